/** Events as Parquet files, with the columns of {@link STORED_COLUMNS}: plain lists and texts, which any engine reads. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parquetWriteBuffer } from 'hyparquet-writer'
import type { RowSink } from './event-load.ts'
import { STORED_COLUMNS, type StoredRow, type StoredType } from './event-store.ts'

/** Texts of one file, about; bounds the memory that writing takes, some ten times that. Unit: characters. */
export const EVENT_FILE_CHARACTERS = 16_777_216
/** Rows of one row group: what a reader has to skip or take together. */
export const EVENT_ROWS_PER_GROUP = 10_000

type SchemaElement = NonNullable<Parameters<typeof parquetWriteBuffer>[0]['schema']>[number]

const TYPES: Readonly<Record<'double' | 'integer' | 'text', Omit<SchemaElement, 'name'>>> = {
  double: { type: 'DOUBLE', repetition_type: 'REQUIRED' },
  integer: { type: 'INT32', repetition_type: 'REQUIRED' },
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' },
}
const ELEMENTS = { doubles: 'double', integers: 'integer', texts: 'text' } as const

const SCHEMA: SchemaElement[] = [
  { name: 'root', num_children: STORED_COLUMNS.length },
  ...STORED_COLUMNS.flatMap(([name, type]): SchemaElement[] => schemaOf(name, type)),
]

function schemaOf(name: string, type: StoredType): SchemaElement[] {
  if (type === 'double' || type === 'integer' || type === 'text') return [{ name, ...TYPES[type] }]
  return [
    { name, repetition_type: 'REQUIRED', converted_type: 'LIST', num_children: 1 },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', ...TYPES[ELEMENTS[type]] },
  ]
}

/** Writes rows to files of a folder, which is made when it is not there. Files are readable for their owner only. */
export class ParquetSink implements RowSink {
  readonly files: string[]
  rows: number
  readonly #folder: string
  readonly #prefix: string
  #kept: StoredRow[]
  #characters: number

  /** `loadedMs`: names of files have it, so that those of several loads lie side by side. */
  constructor(folder: string, loadedMs: number) {
    this.files = []
    this.rows = 0
    this.#folder = folder
    this.#prefix = `events-${loadedMs}`
    this.#kept = []
    this.#characters = 0
  }

  add(row: StoredRow): void {
    this.#kept.push(row)
    this.rows++
    this.#characters += row.text.length + row.entries.length
    for (const text of row.texts) this.#characters += text.length
    if (this.#characters >= EVENT_FILE_CHARACTERS) this.#write()
  }

  async flush(): Promise<void> {}

  async finish(): Promise<void> {
    if (this.#kept.length > 0) this.#write()
  }

  #write(): void {
    const rows = this.#kept
    this.#kept = []
    this.#characters = 0
    const octets = parquetWriteBuffer({
      columnData: STORED_COLUMNS.map(([name]) => ({ name, data: rows.map((row) => row[name]) })),
      schema: SCHEMA,
      rowGroupSize: EVENT_ROWS_PER_GROUP,
      kvMetadata: [{ key: 'prexy', value: 'hunt events, version 1' }],
    })
    mkdirSync(this.#folder, { recursive: true })
    const file = join(this.#folder, `${this.#prefix}-${String(this.files.length).padStart(5, '0')}.parquet`)
    // What events say may be secret.
    writeFileSync(file, new Uint8Array(octets), { flag: 'wx', mode: 0o600 })
    this.files.push(file)
  }
}
