/** The helpers of all random tests: a property is tested, and a failure says how to see it again. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holds, repeatable } from './repeat.ts'

const file = 'test/verbs-model/repeat.test.ts'

describe('a property', () => {
  it('with no time at all is tested once', async () => {
    let runs = 0
    const body = async (): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, 1))
      runs++
    }
    await repeatable({ ms: 0, file, title: 'none' }, fc.nat(), body)
    expect(runs).toBeGreaterThan(0)
  })

  it('that is never tested fails', () => {
    const never = fc.property(fc.nat(), (n) => fc.pre(n < 0))
    expect(() => holds(never)).toThrow(/property/)
  })

  it("that fails names the command, here it's this one", () => {
    const command = `npx vitest run ${file} -t 'that fails names the command, here it'\\''s this one'`
    const wrong = fc.property(fc.nat(), (n) => {
      expect(n).toBeLessThan(5)
    })
    const failure = (() => {
      try {
        holds(wrong)
      } catch (error) {
        return (error as Error).message
      }
    })()
    expect(failure).toContain(command)
    expect(failure).toMatch(/after \[5\]\nrepeat with: VERBENA_SEED=\d+ VERBENA_PATH=[\d:]+ npx/)
  })

  it('that fails in its time names the command, too', async () => {
    const failing = repeatable({ ms: 500, file, title: 'x' }, fc.nat(), async (n) => {
      expect(n).toBeLessThan(5)
    })
    await expect(failing).rejects.toThrow(`npx vitest run ${file} -t 'x'`)
  })
})
