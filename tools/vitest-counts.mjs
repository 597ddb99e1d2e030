// A vitest reporter that writes the counts of a run to the file named by PREXY_COUNTS and says which tests did not run.
import { writeFileSync } from 'node:fs'

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */
/** @typedef {{ file: string, name: string, message: string }} Failure `file` is relative to the repository */
/** @typedef {Counts & { failures: Failure[] }} Outcome `failures`: of tests; errors outside of any only count */

class CountsReporter {
  /**
   * @param {readonly import('vitest/node').TestModule[]} modules
   * @param {readonly unknown[]} unhandledErrors
   */
  onTestRunEnd(modules, unhandledErrors) {
    /** @type {Outcome} */
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0, failures: [] }
    for (const module of modules) {
      let failedTests = 0
      for (const test of module.children.allTests()) {
        const result = test.result()
        if (result.state === 'passed') counts.passed++
        else if (result.state === 'failed') {
          failedTests++
          const message = result.errors.map((error) => error.message).join('\n')
          counts.failures.push({ file: module.relativeModuleId, name: test.fullName, message })
        } else {
          counts.skipped++
          const reason = result.state === 'skipped' && result.note !== undefined ? `: ${result.note}` : ''
          process.stdout.write(`not run: ${module.relativeModuleId} > ${test.fullName}${reason}\n`)
        }
      }
      // A file that could not be loaded, or whose hooks failed, has no test of its own to show for it.
      if (failedTests === 0 && module.state() === 'failed') {
        failedTests = 1
        const message = module
          .errors()
          .map((error) => error.message)
          .join('\n')
        counts.failures.push({ file: module.relativeModuleId, name: '(the file)', message })
      }
      counts.failed += failedTests
    }
    const path = process.env.PREXY_COUNTS
    if (path !== undefined) writeFileSync(path, JSON.stringify(counts))
  }
}

// vitest loads a reporter by its file's default export.
// oxlint-disable-next-line import/no-default-export
export default CountsReporter
