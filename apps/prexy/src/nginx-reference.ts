/** docs/compat-nginx.md: what becomes of each directive, from the table that the import itself goes by. */
import { CARRIED, NEEDLESS, REASONS } from '@prexy/config/nginx-directives'

export function nginxDirectivePage(): string {
  const list = (names: Iterable<string>): string =>
    [...names]
      .toSorted()
      .map((name) => `\`${name}\``)
      .join(', ')
  const reasons = Object.entries(REASONS)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, reason]) => `| \`${name}\` | ${reason} |`)
  const parts = [
    '# Directives of nginx',
    'What `prexy import nginx` does with each directive. A directive that is in none of these lists is told as unknown, with its line. The\n' +
      '[guide](guides/replace-nginx.md) says how to go from one to the other.',
    '## Read',
    'What of one cannot be carried over, such as a variable that prexy has not, is told with its line and reason.',
    list(CARRIED),
    '## Not needed',
    'They are about the process that nginx is, its buffers and its logs, or ask for what prexy does anyway. They are left out without a word.',
    list(NEEDLESS),
    '## Not carried over',
    ['| directive | why |', '| --- | --- |', ...reasons].join('\n'),
  ]
  return `${parts.join('\n\n')}\n`
}
