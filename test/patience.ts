/**
 * How long a program of a test may take before it is killed, in ms: only one that hangs takes so long, or one of the slower suites on a machine
 * that does much else.
 */
export const programMs: number = process.env.VERBENA_SLOW === '1' ? 300_000 : 55_000
