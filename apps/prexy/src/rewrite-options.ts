/** How rules are applied, as options of every command that applies some. */
import { type Command, Option } from 'commander'
import type { RewriteOptions } from '@prexy/config/config-schema'
import { DEFAULT_MAX_HELD_BYTES, MAX_MAX_HELD_BYTES, MIN_MAX_HELD_BYTES } from '@prexy/rewrite/rules'
import { CommandError } from './exit-codes.ts'

const REWRITE_HEADING = 'How rules are applied:'

export function addRewriteOptions(command: Command): void {
  const add = (option: Option): void => {
    command.addOption(option.helpGroup(REWRITE_HEADING))
  }
  add(new Option('--priority <which>', 'of several matches at one place').choices(['first', 'longest']))
  add(new Option('--mode <unit>', 'match characters of UTF-8, or single bytes').choices(['text', 'octet']))
  add(
    new Option(
      '--max-held-bytes <bytes>',
      `how much may wait for the end of a possible match (${DEFAULT_MAX_HELD_BYTES}, at most ${MAX_MAX_HELD_BYTES})`,
    ).argParser((value) => {
      const bytes = Number(value)
      if (!Number.isSafeInteger(bytes)) throw new CommandError(`--max-held-bytes ${value} is no whole number`)
      return bytes
    }),
  )
  add(new Option('--overflow <policy>', 'what happens at that limit').choices(['skip', 'passthrough', 'abort']))
  add(new Option('--compat <what>', "follow OpenResty's replace_filter where it differs").choices(['nginx']))
}

export function rewriteOptions(flags: RewriteOptions): RewriteOptions {
  const { priority, mode, maxHeldBytes, overflow, compat } = flags
  const least = compat === 'nginx' ? 0 : MIN_MAX_HELD_BYTES
  if (maxHeldBytes !== undefined && maxHeldBytes < least)
    throw new CommandError(`--max-held-bytes ${maxHeldBytes} is too little, the least is ${least}`)
  if (maxHeldBytes !== undefined && maxHeldBytes > MAX_MAX_HELD_BYTES)
    throw new CommandError(`--max-held-bytes ${maxHeldBytes} is too much, the most is ${MAX_MAX_HELD_BYTES}`)
  return {
    ...(priority === undefined ? {} : { priority }),
    ...(mode === undefined ? {} : { mode }),
    ...(maxHeldBytes === undefined ? {} : { maxHeldBytes }),
    ...(overflow === undefined ? {} : { overflow }),
    ...(compat === undefined ? {} : { compat }),
  }
}
