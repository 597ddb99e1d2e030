/** `prexy import`. */
import type { Command } from 'commander'
import { addExamples, addNotes, type CommandRun, subcommand } from './command-parts.ts'

export function addImportCommand(program: Command, run: CommandRun): void {
  const group = subcommand(program, 'import', 'Make a configuration out of that of another server')
  const command = subcommand(group, 'nginx', 'Make a configuration out of files of nginx, and say what of them is lost')
    .argument('<file>', 'nginx.conf, or a file of sites-available; what it includes is read, too')
    .option('--site <name>', 'only the servers that have this name')
    .option(
      '--output <file>',
      'write the configuration there, where nothing may be yet; without it, to standard output',
    )
    .option('--json', 'print the configuration and what is lost as one JSON object')
  addExamples(command, [
    ['', 'prexy import nginx /etc/nginx/nginx.conf --output prexy.yaml && prexy check prexy.yaml'],
    ['One site of many:', 'prexy import nginx /etc/nginx/nginx.conf --site www.example.org'],
  ])
  addNotes(
    command,
    'Servers become sites, locations routes, in the order in which nginx would take them; sub_filter, subs_filter and\n' +
      'replace_filter become rules. What cannot be carried over is told with its file, line and reason; where that would\n' +
      'open what nginx keeps closed, the route answers 403. docs/guides/replace-nginx.md shows it.\n' +
      'Exit codes: 0 everything was carried over, 1 something was not, 2 an error.',
  )
  command.action(async (file: string, flags: { site?: string; output?: string; json?: boolean }) => {
    const { importNginxFile } = await import('./import-nginx.ts')
    run.code = await importNginxFile(file, { site: flags.site, output: flags.output, json: flags.json === true })
  })
}
