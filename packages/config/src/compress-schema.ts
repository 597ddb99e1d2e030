/** Compressing what came uncompressed; the descriptions are the reference documentation. */
import { z } from 'zod'
import { mediaType, type OneOrMore, oneOrMore } from './rule-schema.ts'

export type CompressCoding = 'br' | 'zstd' | 'gzip'

export interface RawCompress {
  readonly codings?: OneOrMore<CompressCoding>
  readonly types?: OneOrMore<string>
  readonly minBytes?: number
  readonly levels?: { readonly br?: number; readonly zstd?: number; readonly gzip?: number }
}

const level = (least: number, most: number): z.ZodType<number> => z.int().min(least).max(most)

export const compressLevelsSchema: z.ZodType<NonNullable<RawCompress['levels']>> = z
  .strictObject({
    br: level(0, 11).exactOptional().describe('Of brotli, with quality 11 as the slowest.'),
    zstd: level(1, 19).exactOptional().describe('Of zstd.'),
    gzip: level(1, 9).exactOptional().describe('Of gzip.'),
  })
  .describe('How much time is spent on fewer bytes, also for what rules changed.')

const compressMapping: z.ZodType<RawCompress> = z
  .strictObject({
    codings: oneOrMore(z.enum(['br', 'zstd', 'gzip']))
      .exactOptional()
      .describe(
        'Content codings, the favourite first: what a client likes as much as another is coded with the first of them. Node 20 ' +
          'has no zstd. Without it: br, zstd, gzip.',
      ),
    types: oneOrMore(mediaType)
      .exactOptional()
      .describe(
        'Media types that are compressed, compared without letter case and parameters; `*` stands for anything. Without it: text, ' +
          'scripts, JSON, XML, SVG and WebAssembly.',
      ),
    minBytes: z
      .int()
      .min(0)
      .max(1_000_000_000)
      .exactOptional()
      .describe('Shorter bodies stay as they are, where the upstream tells the length.'),
    levels: compressLevelsSchema.exactOptional(),
  })
  .describe('How responses that came uncompressed are compressed.')

export const compressSchema: z.ZodType<boolean | RawCompress> = z.union([z.boolean(), compressMapping])
