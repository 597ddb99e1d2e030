/** `include` directives of nginx files, put in the place of what they name. */
import { type NginxDirective, type NginxSyntaxProblem, parseNginx } from './nginx-syntax.ts'

/**
 * The content of files that match `pattern`, in the order of their names; a text says why there are none. Undefined:
 * the one that it names is not there.
 */
export type NginxLoader = (pattern: string) => readonly NginxFile[] | string | undefined

export interface NginxFile {
  readonly file: string
  readonly text: string
}

/** Files that one configuration may have, and how deep they may include one another. */
export const MAX_NGINX_FILES = 2_000
export const MAX_NGINX_INCLUDE_DEPTH = 16

/**
 * Files that come with nginx or with what issues its certificates, and keep nobody out. They are often not where a
 * configuration is looked at.
 */
const OWN_FILES =
  /(?:^|\/)(?:mime\.types|koi-utf|koi-win|win-utf|(?:fastcgi|uwsgi|scgi|proxy)_params|(?:fastcgi|uwsgi|scgi|fastcgi-php|options-ssl-nginx|snakeoil)\.conf)$/

export interface NginxTree {
  readonly directives: readonly NginxDirective[]
  /** Includes of nginx's own files that are not there. */
  readonly absent: readonly NginxDirective[]
  readonly problems: readonly NginxSyntaxProblem[]
}

/** Reads a configuration with all files that it includes. Never throws. */
export function readNginx(main: NginxFile, load: NginxLoader): NginxTree {
  const problems: NginxSyntaxProblem[] = []
  const absent: NginxDirective[] = []
  let files = 1
  const expand = (directives: readonly NginxDirective[], depth: number): NginxDirective[] =>
    directives.flatMap((directive): readonly NginxDirective[] => {
      if (directive.block !== undefined) return [{ ...directive, block: expand(directive.block, depth) }]
      if (directive.name !== 'include' || directive.args.length !== 1) return [directive]
      const { file, line, args } = directive
      const fault = (message: string): readonly NginxDirective[] => {
        problems.push({ file, line, message })
        return []
      }
      if (depth === MAX_NGINX_INCLUDE_DEPTH) {
        return fault(`files include one another more than ${MAX_NGINX_INCLUDE_DEPTH} levels deep`)
      }
      const found = load(args[0])
      if (found === undefined) {
        if (!OWN_FILES.test(args[0])) return fault(`include ${args[0]}: there is no such file; copy it here, too`)
        absent.push(directive)
        return []
      }
      if (typeof found === 'string') return fault(`include ${args[0]}: ${found}`)
      files += found.length
      if (files > MAX_NGINX_FILES) return fault(`more than ${MAX_NGINX_FILES} files are included`)
      return found.flatMap((one) => expand(parse(one), depth + 1))
    })
  const parse = (one: NginxFile): readonly NginxDirective[] => {
    const parsed = parseNginx(one.text, one.file)
    problems.push(...parsed.problems)
    return parsed.directives
  }
  return { directives: expand(parse(main), 0), absent, problems }
}
