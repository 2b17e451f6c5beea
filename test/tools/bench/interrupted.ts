/** A benchmark that a signal ends. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { outcome, start } from '../../cli/run.ts'

/** 8192 messages every 2 ms: the first set takes 16 s. */
const long = ['--size', '8', '--burst', '8192', '--pause', '2000000', '--warmup', '0', '--repeat', '9']

interface Saved {
  runs: { error?: string; lat: { count: number } }[]
}

/** What is left of a run that gets the signal so long after it began. */
async function interrupted(signal: 'SIGINT' | 'SIGTERM', afterMs: number): Promise<Saved> {
  const dir = mkdtempSync(join(tmpdir(), 'verbena-interrupted-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const child = start(['bench', 'latency', ...long, '--json', '--out', dir])
  const done = outcome(child)
  // It is there as soon as the run begins.
  while (!existsSync(join(dir, 'run.json'))) await new Promise((resolve) => setTimeout(resolve, 50))
  await new Promise((resolve) => setTimeout(resolve, afterMs))
  child.kill(signal)
  const { code, stdout, stderr } = await done
  expect(stderr).toMatch(/what was measured is being saved/)
  expect(code).toBe(signal === 'SIGINT' ? 130 : 143)
  const saved = JSON.parse(readFileSync(join(dir, 'run.json'), 'utf8'))
  expect(saved.complete).toBe(false)
  const { runs } = JSON.parse(stdout) as Saved
  expect(runs).toHaveLength(saved.sets.length)
  return { runs }
}

export function savesOn(signal: 'SIGINT' | 'SIGTERM'): void {
  it(`saves what it measured on ${signal}`, async () => {
    // Nothing shows when the first message of a set has arrived: on a loaded machine it is waited for again, for longer.
    let last = await interrupted(signal, 500)
    for (const afterMs of [2000, 8000]) {
      if ((last.runs[0]?.lat.count ?? 0) > 0) break
      last = await interrupted(signal, afterMs)
    }
    const { runs } = last
    expect(runs).toHaveLength(1)
    expect(runs[0]!.error).toBe('interrupted')
    expect(runs[0]!.lat.count).toBeGreaterThan(0)
    expect(runs[0]!.lat.count).toBeLessThan(8192)
  })
}
