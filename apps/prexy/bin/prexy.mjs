#!/usr/bin/env node
// Committed before any build so that npm can link it; the command line itself is compiled into dist/.
import { existsSync } from 'node:fs'
const entry = new URL('../dist/main.js', import.meta.url)
if (existsSync(entry)) {
  await import(entry.href)
} else {
  process.stderr.write('prexy: not built yet. Run `npm run build` in the clone first.\n')
  process.exitCode = 2
}
