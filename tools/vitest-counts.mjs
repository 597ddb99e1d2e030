// A vitest reporter that writes the counts of a run to the file named by PREXY_COUNTS and says which tests did not run.
import { writeFileSync } from 'node:fs'

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */

class CountsReporter {
  /**
   * @param {readonly import('vitest/node').TestModule[]} modules
   * @param {readonly unknown[]} unhandledErrors
   */
  onTestRunEnd(modules, unhandledErrors) {
    /** @type {Counts} */
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 }
    for (const module of modules) {
      let failedTests = 0
      for (const test of module.children.allTests()) {
        const result = test.result()
        if (result.state === 'passed') counts.passed++
        else if (result.state === 'failed') failedTests++
        else {
          counts.skipped++
          const reason = result.state === 'skipped' && result.note !== undefined ? `: ${result.note}` : ''
          process.stdout.write(`not run: ${module.relativeModuleId} > ${test.fullName}${reason}\n`)
        }
      }
      // A file that could not be loaded, or whose hooks failed, has no test of its own to show for it.
      if (failedTests === 0 && module.state() === 'failed') failedTests = 1
      counts.failed += failedTests
    }
    const path = process.env.PREXY_COUNTS
    if (path !== undefined) writeFileSync(path, JSON.stringify(counts))
  }
}

// vitest loads a reporter by its file's default export.
// oxlint-disable-next-line import/no-default-export
export default CountsReporter
