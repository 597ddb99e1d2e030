/**
 * Names under which anyone can register one: a cookie for all names below such a name would reach strangers.
 *
 * This is not the Public Suffix List (publicsuffix.org), which has ten thousand entries, changes weekly and is in every
 * browser already. It is a last line for clients without it: single labels, the usual second-level registries below
 * country codes, and the best known hosting platforms. A wrong yes costs a cookie its subdomains, nothing else.
 */

const REGISTRY_LABELS = new Set(
  'ac co com edu gob gov gouv go id lg ltd me mil ne net nhs nom or org plc police sch web'.split(' '),
)

const PLATFORMS = new Set(
  (
    'amazonaws.com appspot.com azurestaticapps.net azurewebsites.net blogspot.com bitbucket.io cloudapp.net ' +
    'cloudfront.net deno.dev duckdns.org dyndns.org elasticbeanstalk.com firebaseapp.com fly.dev github.io ' +
    'gitlab.io glitch.me herokuapp.com myshopify.com netlify.app ngrok.app ngrok.io ngrok-free.app no-ip.org ' +
    'now.sh onrender.com pages.dev r2.dev render.com repl.co run.app surge.sh trycloudflare.com vercel.app ' +
    'web.app wordpress.com workers.dev'
  ).split(' '),
)

/** `host` is a name in lower case, without a dot at its end. */
export function isPublicSuffix(host: string): boolean {
  const labels = host.split('.')
  if (labels.length < 2 || PLATFORMS.has(host)) return true
  return labels.length === 2 && labels[1].length === 2 && REGISTRY_LABELS.has(labels[0])
}
