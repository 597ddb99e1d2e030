/** `prexy password`. */
import { hashPassword } from '@prexy/proxy/password-check'
import { CommandError, EXIT_OK } from './exit-codes.ts'
import { finishWithoutReader, writeStandardOutput } from './standard-output.ts'

/** Longest password, in UTF-16 code units: a client sends it with every request. */
const MAX_PASSWORD_CHARACTERS = 1_024

export async function printPasswordHash(): Promise<number> {
  finishWithoutReader()
  const password = process.stdin.isTTY ? await askedPassword(process.stdin) : await pipedPassword(process.stdin)
  if (password === '') throw new CommandError('the password is empty')
  if (password.length > MAX_PASSWORD_CHARACTERS) {
    throw new CommandError(`the password is longer than ${MAX_PASSWORD_CHARACTERS} characters`)
  }
  await writeStandardOutput(`${await hashPassword(password)}\n`)
  return EXIT_OK
}

/** Without the line break that ends it. */
async function pipedPassword(input: NodeJS.ReadStream): Promise<string> {
  let text = ''
  for await (const chunk of input.setEncoding('utf8')) {
    text += String(chunk)
    if (text.length > MAX_PASSWORD_CHARACTERS + 2) break
  }
  return text.replace(/\r?\n$/, '')
}

/** Typed on a terminal that shows nothing of it. */
function askedPassword(terminal: NodeJS.ReadStream): Promise<string> {
  process.stderr.write('Password: ')
  terminal.setRawMode(true)
  terminal.setEncoding('utf8')
  return new Promise((resolve, reject) => {
    let typed = ''
    const end = (): void => {
      terminal.setRawMode(false)
      terminal.pause()
      process.stderr.write('\n')
    }
    terminal.on('data', (text: string) => {
      for (const character of text) {
        if (character === '\r' || character === '\n' || character === '\u0004') {
          end()
          return resolve(typed)
        }
        if (character === '\u0003') {
          end()
          return reject(new CommandError('interrupted'))
        }
        if (character === '\u007f' || character === '\b') typed = [...typed].slice(0, -1).join('')
        else typed += character
      }
    })
  })
}
