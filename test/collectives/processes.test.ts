/** Ranks in processes and in threads of their own, with calls that block. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'

const rank = fileURLToPath(new URL('rank.ts', import.meta.url))

interface Outcome {
  code: number | null
  out: string
  err: string
}

async function start(size: number, mode: string): Promise<Outcome> {
  const child = spawn(process.execPath, ['--import', 'tsx', rank, String(size), mode], { timeout: 50_000 })
  const texts = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    texts.out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    texts.err += text
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, ...texts }
}

const segments = (): string[] => readdirSync('/dev/shm').filter((name) => name.startsWith('verbena-collectives-'))

describe.skipIf(!nativeAvailable)('processes', () => {
  it('three of them: every collective, long and short', async () => {
    const before = segments()
    const { code, out, err } = await start(3, 'all')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toBe('rank 0 of 3: 96 calls\n')
    expect(segments().filter((name) => !before.includes(name))).toEqual([])
  })

  it('one is killed: the others end, name it, and leave nothing', async () => {
    const before = segments()
    const { code, err } = await start(3, 'killed')
    expect(code).not.toBe(0)
    expect(err).toMatch(/rank 1\b.*killed/)
    expect(err).toMatch(/rank 1 cannot be reached any more|rank 1 \(.*\) /)
    expect(segments().filter((name) => !before.includes(name))).toEqual([])
  })
})
