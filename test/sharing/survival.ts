/** The test of a fleet: one process after the other is killed, and nobody else notices. VERBENA_SEED=N repeats a run. */
import { randomInt } from 'node:crypto'
import { relative } from 'node:path'
import { expect, it } from 'vitest'
import { type Context, openDevice } from '../../src/index.ts'
import { layout } from '../../src/verbs/provider/index.ts'
import { Fleet } from './fleet.ts'

interface Survival {
  readonly device: string
  readonly host: string
  readonly processes: number
  /** How many are killed, one each second. */
  readonly kills: number
  readonly paceMs: number
}

export function survival(title: string, { device, host, processes, kills, paceMs }: Survival): void {
  const limitMs = 60_000 + kills * 5000
  it(title, { timeout: limitMs + 20_000 }, async () => {
    const seed = Number(process.env.VERBENA_SEED ?? randomInt(2 ** 31))
    const context = openDevice(device)
    const before = recordsInUse(context)
    const fleet = new Fleet({ device, host, seed, paceMs })
    const run = async (): Promise<void> => {
      await fleet.start(processes)
      for (let i = 0; i < kills && fleet.troubles.length === 0; i++) {
        const next = performance.now() + 1000
        // On a busy machine it may take longer than that until another is there.
        await expect.poll(() => fleet.size, { timeout: 30_000, interval: 20 }).toBeGreaterThan(processes / 2)
        await fleet.killOne()
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - performance.now())))
      }
      const all = await fleet.judge(20_000)
      expect(fleet.troubles).toEqual([])
      expect(Math.min(all.received.messages, all.received.writes, all.received.bytes, all.verified)).toBeGreaterThan(0)
      // Those that are lost had no room at the receiver.
      expect(all.received.datagrams).toBeGreaterThan(all.sent.datagrams / 2)
      await fleet.end()
      // What the dead had, and what the others closed.
      await expect.poll(() => recordsInUse(context), { timeout: 5000, interval: 50 }).toEqual(before)
      expect(context.counters().stale_objects_reaped).toBeGreaterThan(0)
      if (process.env.VERBENA_SLOW === '1') console.log(`${title}: ${JSON.stringify(all)}`)
    }
    let limit: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      const text = `it has not ended after ${limitMs / 1000} s`
      limit = setTimeout(() => reject(new Error(`${text}; asked, and not answered: ${fleet.unanswered()}`)), limitMs)
    })
    try {
      await Promise.race([run(), late])
    } catch (error) {
      const file = relative(process.cwd(), expect.getState().testPath!)
      const config = file.includes('.slow.') ? '--config vitest.slow.config.ts ' : ''
      const command = `VERBENA_SEED=${seed} npx vitest run ${config}${file}`
      const told = [
        ...fleet.log.slice(-200),
        ...fleet.troubles,
        `repeat with: ${command}`,
        String((error as Error).stack),
      ]
      throw new Error(told.join('\n'))
    } finally {
      clearTimeout(limit)
      fleet.kill()
      context.close()
    }
  })
}

/** How many objects of each kind there are in the segment, whoever has them. */
function recordsInUse(context: Context): Record<string, number> {
  const { i32, at } = context.device.host
  const counts = Object.entries(layout.Records).map(([kind, { table, words, high }]) => {
    const used = i32[at.meta + high]!
    const inUse = Array.from({ length: used }, (_, slot) => i32[at[table] + slot * words]!).filter(
      (state) => state !== 0,
    )
    return [kind, inUse.length]
  })
  return Object.fromEntries(counts)
}
