/** The files of the built programs. `npm test` builds them first. */
import { fileURLToPath } from 'node:url'

const file = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))

/** The command line. */
export const command: string = process.env.VERBENA_CLI ?? file('dist/verbena.js')
/** The command line for this process: see src/cli/run.ts. */
export const runModule: string = file('dist/run.js')
/** The comparison with peers. */
export const comparison: string = file('build/bench/bench.js')
/** The entry point `verbena/run`, which starts processes with what is beside it. */
export const runChildModule: string = file('dist/run-child.js')
