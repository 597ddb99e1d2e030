import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: { conditions: ['@prexy/source'] },
  ssr: { resolve: { conditions: ['@prexy/source', 'node', 'import', 'default'] } },
  test: {
    include: [
      'packages/*/test/**/*.test.ts',
      'apps/*/test/**/*.test.ts',
      'testing/**/*.test.ts',
      'bench/test/**/*.test.ts',
      'tools/test/**/*.test.ts',
    ],
    maxWorkers: 2,
    // Modules as the runtime gives them: vitest's own view of default exports loses zod's `z` under Bun.
    deps: { interopDefault: false },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
