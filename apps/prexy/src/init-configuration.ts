/** `prexy init OLD NEW`: a first configuration for the usual job, with comments that say what to look at next. */
import { CommandError, EXIT_OK } from './exit-codes.ts'
import { writeNew } from './import-nginx.ts'
import { writeStandardOutput } from './standard-output.ts'

export async function writeFirstConfiguration(from: string, to: string, output: string | undefined): Promise<number> {
  const text = firstConfiguration(from, to)
  if (output === undefined) await writeStandardOutput(text)
  else {
    await writeNew(output, text)
    process.stderr.write(`wrote ${output}; look through it, then: prexy check ${output} && prexy serve ${output}\n`)
  }
  return EXIT_OK
}

/** Throws a CommandError for what is no site or no name. */
export function firstConfiguration(from: string, to: string): string {
  const origin = originOf(from)
  const name = hostOf(to)
  if (origin.hostname === name) throw new CommandError(`${from} and ${to} are the same host; name two`)
  const target = `${origin.protocol}//${origin.host}`
  return `# ${origin.host} under the name ${name}. prexy check says what is wrong with this file, docs/configuration.md what
# it may hold. Look at a page before it is served:
#   prexy try ${target}/ --domain ${origin.hostname} --with ${name} --subdomains keep

# Where clients come in. With a certificate for ${name} this can be the port of https.
listen: 127.0.0.1:8080

# The site there is. It is asked under its own name.
upstream: ${target}
${origin.port === '' ? '' : '# With its port, which the rule for its name does not know.\npreserveHost: false\n'}
rules:
  # The host name, in links, scripts, JSON and header fields: Location, Set-Cookie, Content-Security-Policy and others.
  # What clients send goes the other way: Host, Origin, Referer. subdomains: keep makes static.${origin.hostname} to
  # static.${name}; leave it out if the names below stay where they are.
  - domain: ${origin.hostname}
    to: ${name}
    subdomains: keep

  # Search engines are to index one of the two. Remove this if it is the copy.
  - insert: before
    at: </head>
    with: '<meta name="robots" content="noindex">'

headers:
  response:
    # The same for what is no page.
    - set: X-Robots-Tag
      value: noindex
    # What the site says of its own name and https must not bind this one; set it again when the copy has a certificate.
    - remove: Strict-Transport-Security

# Forms that send the name back, in their fields and in JSON.
requestBodies: true

# Scripts and styles that rules change do not fit the hashes that pages name for them.
integrity: drop

# Rewrite also what the site asks intermediaries to leave alone; it is yours.
ignoreNoTransform: true
`
}

function originOf(text: string): URL {
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`
  let url: URL
  try {
    url = new URL(address)
  } catch {
    throw new CommandError(`${text} is no host name and no address; write it like www.example.org`)
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new CommandError(`${text}: a site is http or https; write it like www.example.org`)
  }
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') {
    throw new CommandError(`${text}: a site is a host, without path and user name; write it like ${url.host}`)
  }
  return url
}

function hostOf(text: string): string {
  const name = text.toLowerCase()
  if (/^(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/.test(name))
    return name
  throw new CommandError(`${text} is no host name; write it like www.example.com, without scheme, port and path`)
}
