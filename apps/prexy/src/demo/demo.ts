/** `prexy demo`: a small shop, prexy in front of it, and where to look. */
import { once } from 'node:events'
import { loadConfig, textAsFile } from '@prexy/config/load'
import { formatProblem } from '@prexy/config/problem'
import type { RunningProxy } from '@prexy/proxy/start-proxy'
import { createAccessLog } from '../access-log.ts'
import { LogFiles } from '../log-file.ts'
import { EXIT_ERROR, EXIT_OK } from '../exit-codes.ts'
import { compileLists } from '../config-compile.ts'
import { startServer } from '../serve.ts'
import { type Styles, stylesFor } from '../terminal.ts'
import { demoConfig } from './demo-config.ts'
import { checkDemo } from './demo-check.ts'
import { type DemoOrigin, startDemoOrigin } from './origin.ts'

const USUAL_ORIGIN_PORT = 9000
const USUAL_PORT = 8080

export async function runDemo(check: boolean): Promise<number> {
  const style = stylesFor(process.stdout, process.env)
  // A check leaves the usual ports to whoever has them.
  const origin = await startDemoOrigin(check ? 0 : USUAL_ORIGIN_PORT)
  let proxy: RunningProxy
  try {
    proxy = await startOnUsualOrFreePort(origin, check)
  } catch (error) {
    await origin.stop()
    throw error
  }
  const { port } = proxy.address
  try {
    process.stdout.write(check ? '' : introduction(style, origin.port, port))
    if (check)
      return (await checkDemo(origin, port, (line) => process.stdout.write(`${line}\n`), style)) ? EXIT_OK : EXIT_ERROR
    await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
    return EXIT_OK
  } finally {
    await proxy.stop(0)
    await origin.stop()
  }
}

async function startOnUsualOrFreePort(origin: DemoOrigin, check: boolean): Promise<RunningProxy> {
  if (check) return await start(origin, 0, true)
  try {
    return await start(origin, USUAL_PORT, false)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error
    return await start(origin, 0, false)
  }
}

async function start(origin: DemoOrigin, port: number, quiet: boolean): Promise<RunningProxy> {
  const loaded = loadConfig('demo.yaml', textAsFile(demoConfig(port, origin.port), 'demo.yaml'))
  const { compiled, problems: ofRules } = compileLists(loaded, Infinity)
  const problems = [...loaded.problems, ...ofRules]
  if (loaded.value === undefined || problems.length > 0) throw new Error(problems.map(formatProblem).join('\n'))
  return await startServer(
    loaded.value,
    compiled,
    Date.now(),
    await createAccessLog({ log: quiet ? 'off' : 'text' }, new LogFiles(() => {})),
  )
}

function introduction(style: Styles, originPort: number, port: number): string {
  const shop = `http://127.0.0.1:${port}`
  const config = demoConfig(port, originPort)
    .trimEnd()
    .split('\n')
    .map((line) => `    ${line.trimStart().startsWith('#') ? style.dim(line) : line}`)
    .join('\n')
  return `
  ${style.bold('prexy demo')}

  The shop as it is     ${style.cyan(`http://127.0.0.1:${originPort}/`)}
  Through prexy         ${style.cyan(`${shop}/`)}

  What prexy was told (demo.yaml):

${config}

  Open both beside each other, and look for

    ${style.cyan(`${shop}/`)}                     another name, another colour, prices as 14,50 \u20ac; the picture is untouched
    ${style.cyan(`${shop}/catalogue`)}            a slow page: it grows while the origin sends it, rewritten as it comes
    ${style.cyan(`${shop}/about`)}                came compressed, leaves compressed; notkestrel.example is left alone
    ${style.cyan(`${shop}/app.js`)}               host names with \\/ and with %2F are found, too
    ${style.cyan(`${shop}/api/products.json`)}    and in JSON
    ${style.cyan(`${shop}/events`)}               live events, each at once (curl -N ${shop}/events)

  Every request below is one line. ${style.dim('Ctrl-C ends the demo.')}

`
}
