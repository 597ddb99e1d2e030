// Runs in the build stage of the image, under the Node.js that the image is to have: copies it, what it is linked with,
// and the licences of both to the folder given.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

const [out] = process.argv.slice(2)
const INTERPRETERS = ['/lib64/ld-linux-x86-64.so.2', '/lib/ld-linux-aarch64.so.1']
/** Libraries that nothing names, but that resolve names and users where glibc still loads them. */
const LOADED_BY_NAME = ['libnss_files.so.2', 'libnss_dns.so.2']

const interpreter = INTERPRETERS.find((path) => existsSync(path))
if (interpreter === undefined) {
  process.stderr.write('collect-runtime: there is no glibc here; see docs/container.md for why the image wants it\n')
  process.exit(1)
}

/** @param {string} path @param {number} mode */
function take(path, mode, target = path) {
  const to = join(out, target)
  mkdirSync(dirname(to), { recursive: true })
  copyFileSync(realpathSync(path), to)
  chmodSync(to, mode)
}

for (const folder of ['etc/prexy', 'usr/bin', 'usr/share/licenses/node', 'tmp'])
  mkdirSync(join(out, folder), { recursive: true })
chmodSync(join(out, 'tmp'), 0o555)
take(process.execPath, 0o755, '/usr/bin/node')
try {
  execFileSync('strip', ['--strip-all', join(out, 'usr/bin/node')])
} catch {
  process.stdout.write('collect-runtime: no strip here, the runtime stays as it is\n')
}

const listed = execFileSync(interpreter, ['--list', process.execPath], { encoding: 'utf8' })
const libraries = [...listed.matchAll(/=> (\/\S+)/g)].map(([, path]) => path)
const folder = dirname(libraries.find((path) => /\/libc\.so/.test(path)) ?? libraries[0])
for (const name of LOADED_BY_NAME) if (existsSync(join(folder, name))) libraries.push(join(folder, name))
// Where they are found: one folder, and the interpreter where the binary asks for it.
for (const path of libraries) take(path, 0o755, join('/lib', path.split('/').at(-1)))
take(interpreter, 0o755)
if (!existsSync(join(out, 'usr/lib'))) symlinkSync('../lib', join(out, 'usr/lib'))

writeFileSync(join(out, 'etc/passwd'), 'prexy:x:65532:65532:prexy:/:/nonexistent\n')
writeFileSync(join(out, 'etc/group'), 'prexy:x:65532:\n')
writeFileSync(join(out, 'etc/nsswitch.conf'), 'passwd: files\ngroup: files\nhosts: files dns\n')

const licence = join(dirname(dirname(realpathSync(process.execPath))), 'LICENSE')
if (existsSync(licence)) take(licence, 0o644, '/usr/share/licenses/node/LICENSE')
for (const name of ['libc6', 'libstdc++6', 'libgcc-s1', 'gcc-12-base', 'gcc-14-base', 'libatomic1']) {
  const text = join('/usr/share/doc', name, 'copyright')
  if (existsSync(text)) take(text, 0o644, `/usr/share/licenses/${name}/copyright`)
}
process.stdout.write(`collect-runtime: ${libraries.length} libraries, ${readdirSync(join(out, 'lib')).join(' ')}\n`)
