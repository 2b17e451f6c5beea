/**
 * How much is done, without a clock: what a function executes of the sources, block by block, and the bytes that built-in functions go
 * over in its course. A regular expression counts with the length of its text; what it takes beyond that, regular-expressions.slow.test.ts
 * finds.
 */
import { Session } from 'node:inspector/promises'

type Length = (self: { length: number }, result: unknown, args: readonly unknown[]) => number

/** Up to where something was found, from where it was looked for; else all. */
const search: Length = ({ length }, result, [, from = 0]) =>
  typeof result === 'number' && result >= 0 ? result + 1 - Number(from) : Math.max(0, length - Number(from))
const whole: Length = ({ length }) => length
const made: Length = (_, result) => (result as { length: number }).length
const moved: Length = ({ length }, _, [, from = 0, to = length]) => Math.max(0, Number(to) - Number(from))

/** Built-in functions, and how far they go. */
const builtIn: readonly [prototype: object, functions: Readonly<Record<string, Length>>][] = [
  [
    Object.getPrototypeOf(Uint8Array.prototype) as object,
    {
      copyWithin: moved,
      indexOf: search,
      findIndex: search,
      slice: made,
      fill: whole,
      set: (_, __, [from]) => (from as Uint8Array).length,
    },
  ],
  [
    Array.prototype,
    { indexOf: search, includes: whole, slice: made, splice: whole, concat: made, sort: whole, join: whole },
  ],
  [String.prototype, { indexOf: search, includes: whole, split: whole, replace: whole, trim: whole }],
]

/** Steps of work that `run` does. */
export async function workOf(run: () => unknown): Promise<number> {
  let bytes = 0
  const restore: (() => void)[] = []
  for (const [prototype, functions] of builtIn)
    for (const [name, length] of Object.entries(functions)) {
      const methods = prototype as Record<string, (this: unknown, ...args: unknown[]) => unknown>
      const original = methods[name]!
      methods[name] = function (...args) {
        const result = original.apply(this, args)
        bytes += length(this as { length: number }, result, args)
        return result
      }
      restore.push(() => {
        methods[name] = original
      })
    }
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  try {
    await run()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    let blocks = 0
    for (const { url, functions } of result)
      if (url.includes('/src/')) for (const { ranges } of functions) for (const { count } of ranges) blocks += count
    return blocks + bytes
  } finally {
    for (const each of restore) each()
    await session.post('Profiler.stopPreciseCoverage')
    session.disconnect()
  }
}
