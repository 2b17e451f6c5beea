/** The helper of all random tests: a property is tested as often as it says, and a failure says how to see it again. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holds, quickShare, slow, slowFactor } from './property.ts'

const file = 'test/property.test.ts'

describe('a property', () => {
  it('is tested as often as it says, and the runs are counted', async ({ task }) => {
    let runs = 0
    holds(
      fc.property(fc.nat(), () => void runs++),
      10,
    )
    await holds(
      fc.asyncProperty(fc.nat(), async () => void runs++),
      5,
    )
    expect(runs).toBe(15 * (slow ? slowFactor : quickShare))
    expect(task.meta.propertyRuns).toBe(runs)
  })

  it('that is never tested fails', () => {
    const never = fc.property(fc.nat(), (n) => fc.pre(n < 0))
    expect(() => holds(never)).toThrow(/property/)
    expect(() =>
      holds(
        fc.property(fc.nat(), () => {}),
        0,
      ),
    ).toThrow(/completed runs of the property/)
  })

  it("that fails names the command, here it's this one", async () => {
    const command = `npx vitest run ${file} -t 'that fails names the command, here it'\\''s this one'`
    const check = (n: number): void => {
      expect(n).toBeLessThan(5)
    }
    const failures = [
      messageOf(() => holds(fc.property(fc.nat(), check))),
      await holds(fc.asyncProperty(fc.nat(), async (n) => check(n))).then(String, messageOf),
    ]
    for (const failure of failures) {
      expect(failure).toContain(command)
      expect(failure).toMatch(/after \[5\]\nrepeat with: VERBENA_SEED=\d+ VERBENA_PATH=[\d:]+ npx/)
    }
  })

  it('that fails fails again with the seed and the path that it names', () => {
    const check = (n: number): void => {
      expect(n % 7).not.toBe(3)
    }
    const failure = messageOf(() => holds(fc.property(fc.nat(), check)))
    const [, example, seed, path] = /after (\[\d+\])\nrepeat with: VERBENA_SEED=(\d+) VERBENA_PATH=([\d:]+)/.exec(
      failure,
    )!
    Object.assign(process.env, { VERBENA_SEED: seed, VERBENA_PATH: path })
    try {
      expect(messageOf(() => holds(fc.property(fc.nat(), check)))).toContain(`after ${example}`)
    } finally {
      delete process.env.VERBENA_SEED
      delete process.env.VERBENA_PATH
    }
  })
})

function messageOf(failing: unknown): string {
  if (failing instanceof Error) return failing.message
  try {
    ;(failing as () => void)()
  } catch (error) {
    return (error as Error).message
  }
  return 'nothing failed'
}
