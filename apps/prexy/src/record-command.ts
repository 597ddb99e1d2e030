/** `prexy record`: recordings listed, shown, exported, kept small, sent again. */
import { type Command, Option } from 'commander'
import { addExamples, addNotes, type CommandRun, subcommand } from './command-parts.ts'
import { duration, pointInTime, type SelectFlags, size, statusRange } from './record-words.ts'
import type { ExportFlags } from './record-tasks.ts'
import type { ReplayFlags } from './record-replay.ts'

export function addRecordCommands(program: Command, run: CommandRun): void {
  const record = subcommand(program, 'record', 'Look at recordings, export them, keep them small')
  addList(record, run)
  addShow(record, run)
  addExport(record, run)
  addImport(record, run)
  addReplay(record, run)
  addNote(record, run)
  addCompact(record, run)
  addPrune(record, run)
}

const DIRECTORY = 'the directory that record.directory names'

function addList(record: Command, run: CommandRun): void {
  const command = subcommand(record, 'ls', 'List the sessions of a directory')
    .argument('<directory>', DIRECTORY)
    .option('--json', 'print one JSON object per session')
  addExamples(command, [['', 'prexy record ls recordings']])
  command.action(async (directory: string, flags: { json?: boolean }) => {
    const { listSessions } = await import('./record-tasks.ts')
    run.code = await listSessions(directory, flags.json === true)
  })
}

function addShow(record: Command, run: CommandRun): void {
  const command = subcommand(record, 'show', 'Show the events of a recording, or one of them')
    .argument('<path>', 'a directory, or a .prexyrec file')
    .argument('[event]', 'the name of one event, like 4f2a9c01-12; without it, one line for each')
    .option('--json', 'print JSON, one object per event, with heads and bodies')
    .option('--curl', 'print the request of the event as a curl command for a shell')
  addSelection(command)
  addExamples(command, [
    ['What went wrong in the last hour:', 'prexy record show recordings --from 1h --status 5xx'],
    ['All about one exchange:', 'prexy record show recordings 4f2a9c01-12'],
    ['The same request once more:', 'sh -c "$(prexy record show recordings 4f2a9c01-12 --curl)"'],
  ])
  command.action(
    async (
      path: string,
      event: string | undefined,
      flags: SelectFlags & { readonly json?: boolean; readonly curl?: boolean },
    ) => {
      const { showEvent, showEvents } = await import('./record-tasks.ts')
      run.code = event === undefined ? await showEvents(path, flags) : await showEvent(path, event, flags)
    },
  )
}

function addExport(record: Command, run: CommandRun): void {
  const command = subcommand(record, 'export', 'Write events in a form that other tools read')
    .argument('<path>', 'a directory, or a .prexyrec file')
    .addOption(new Option('--format <format>', 'form of the output').choices(['jsonl', 'json', 'har']).default('jsonl'))
    .option('-o, --output <file>', 'where to; without it, standard output')
    .option('--force', 'overwrite the file of -o')
  addSelection(command)
  addExamples(command, [
    ['For the network panel of a browser:', 'prexy record export recordings --format har -o shop.har'],
    ['For jq:', 'prexy record export recordings --session shop | jq .timings.endUs'],
  ])
  command.action(async (path: string, flags: ExportFlags) => {
    const { exportEvents } = await import('./record-tasks.ts')
    run.code = await exportEvents(path, flags)
  })
}

function addImport(record: Command, run: CommandRun): void {
  const command = subcommand(record, 'import', 'Add HAR files of browsers and other proxies to a directory')
    .argument('<files...>', 'HAR files; each becomes a session')
    .requiredOption('--directory <directory>', 'where to; made if it is not there')
    .option('--tag <tag>', 'a word to find the session by; may stand more than once', gathered)
    .option('--secrets', 'keep passwords, cookies and tokens that are in the files')
  addExamples(command, [['', 'prexy record import shop.har --directory recordings --tag checkout']])
  command.action(
    async (
      files: string[],
      flags: { readonly directory: string; readonly tag?: readonly string[]; readonly secrets?: boolean },
    ) => {
      const { importFiles } = await import('./record-tasks.ts')
      run.code = await importFiles(files, flags.directory, flags)
    },
  )
}

function addReplay(record: Command, run: CommandRun): void {
  const command = subcommand(record, 'replay', 'Send a recorded request once more, and compare the status')
    .argument('<directory>', DIRECTORY)
    .argument('<event>', 'the name of the event, like 4f2a9c01-12')
    .requiredOption('--to <url>', 'the upstream, like http://127.0.0.1:9000; nothing else is ever asked')
    .option('--host <name>', 'the Host to ask for; without it, the one that was sent')
    .option('--body', 'print the body of the answer, as it comes')
    .option('--json', 'print the comparison as one JSON object')
    .option('--secrets', 'send passwords, cookies and tokens, if they were recorded')
  addExamples(command, [['', 'prexy record replay recordings 4f2a9c01-12 --to http://127.0.0.1:9000']])
  addNotes(command, 'Exit codes: 0 the status is the same, or --body; 1 it is another; 2 it could not be sent.')
  command.action(async (directory: string, event: string, flags: ReplayFlags) => {
    const { replayEvent } = await import('./record-replay.ts')
    run.code = await replayEvent(directory, event, flags)
  })
}

function addNote(record: Command, run: CommandRun): void {
  const command = subcommand(record, 'note', 'Name a session, tag it, write down what it is about')
    .argument('<directory>', DIRECTORY)
    .argument('<session>', 'its id or its name')
    .option('--name <name>', 'another name')
    .option('--tag <tag>', 'a word to find it by; may stand more than once', gathered)
    .option('--note <text>', 'a note, added to those there are')
  addExamples(command, [['', 'prexy record note recordings shop --tag slow --note "after the new image server"']])
  command.action(
    async (
      directory: string,
      session: string,
      flags: { readonly name?: string; readonly tag?: readonly string[]; readonly note?: string },
    ) => {
      const { annotateSession } = await import('./record-tasks.ts')
      run.code = await annotateSession(directory, session, flags)
    },
  )
}

function addCompact(record: Command, run: CommandRun): void {
  const command = subcommand(record, 'compact', 'Write sealed files as Parquet, for query engines')
    .argument('<directory>', DIRECTORY)
    .option('--remove', 'remove the files that were written as Parquet; heads and bodies are gone then')
  addExamples(command, [
    [
      'And ask DuckDB:',
      `prexy record compact recordings && duckdb -c "select status, count(*) from 'recordings/*.parquet' group by 1"`,
    ],
  ])
  command.action(async (directory: string, flags: { readonly remove?: boolean }) => {
    const { compactRecordings } = await import('./record-tasks.ts')
    run.code = await compactRecordings(directory, flags.remove === true)
  })
}

function addPrune(record: Command, run: CommandRun): void {
  const command = subcommand(record, 'prune', 'Remove old recordings')
    .argument('<directory>', DIRECTORY)
    .option('--max-age <time>', 'remove what is older: 12h, 7d (7d)', duration)
    .option(
      '--max-bytes <size>',
      'then remove the oldest until the rest is no more than this: 500MB, 2GB (1 GiB)',
      size,
    )
    .option('--dry-run', 'say what would be removed')
  addExamples(command, [['', 'prexy record prune recordings --max-age 7d --max-bytes 2GB --dry-run']])
  addNotes(command, 'Files that a proxy may still write to stay. Parquet files are never removed.')
  command.action(
    async (
      directory: string,
      flags: { readonly maxAge?: number; readonly maxBytes?: number; readonly dryRun?: boolean },
    ) => {
      const { pruneDirectory } = await import('./record-tasks.ts')
      const { maxAge, maxBytes, dryRun } = flags
      const retention = {
        ...(maxAge === undefined ? {} : { maxAgeMs: maxAge }),
        ...(maxBytes === undefined ? {} : { maxTotalBytes: maxBytes }),
      }
      run.code = await pruneDirectory(directory, retention, dryRun === true)
    },
  )
}

function addSelection(command: Command): void {
  command
    .option('--session <session>', 'only of the session with this id, name or tag')
    .option('--from <time>', 'not before: 2026-12-01T12:00:00Z, or 30m for ago', pointInTime)
    .option('--to <time>', 'not after', pointInTime)
    .option('--status <status>', 'only with this status: 404, 5xx, 400-499', statusRange)
    .option('--host <name>', 'only for this host')
    .option('--route <name>', 'only of this route')
    .option('--limit <count>', 'no more than this many', (text) => Number.parseInt(text, 10))
    .option('--secrets', 'with passwords, cookies and tokens, if they were recorded')
}

function gathered(word: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), word]
}
