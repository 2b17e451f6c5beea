/** `runRanks`: exit codes, the last lines of ranks, and what becomes of them when their parent is interrupted or killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const rank = fileURLToPath(new URL('local-rank.ts', import.meta.url))

function start(what: string): { parent: ChildProcess; err: () => string } {
  const parent = spawn(process.execPath, ['--import', 'tsx', rank, what], {
    ...{ timeout: 50_000, stdio: ['ignore', 'ignore', 'pipe'] },
  })
  let text = ''
  parent.stderr!.setEncoding('utf8').on('data', (more: string) => {
    text += more
  })
  return { parent, err: () => text }
}

/** The processes of three ranks, when all of them wait for the others. */
async function waiting({ parent, err }: ReturnType<typeof start>): Promise<number[]> {
  for (;;) {
    const pids = [...err().matchAll(/process (\d+)/g)].map(([, pid]) => Number(pid))
    if (pids.length === 3) return pids
    if (parent.exitCode !== null) throw new Error(err())
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Not one that has ended and whose new parent has not looked. */
function lives(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.charAt(stat.lastIndexOf(')') + 2) !== 'Z'
  } catch {
    return false
  }
}

describe.skipIf(process.platform !== 'linux')('processes of runRanks', () => {
  it.each([
    ['SIGHUP', 129],
    ['SIGINT', 130],
  ])('%s: all lines, and exit code %i', async (what, code) => {
    const { parent, err } = start(what)
    expect(await once(parent, 'close')).toEqual([code, null])
    expect(err()).toContain('rank 1: line 1999\n')
  })

  it('are interrupted with their parent, where nobody else has done so', async () => {
    const run = start('wait')
    const pids = await waiting(run)
    run.parent.kill('SIGINT')
    expect(await once(run.parent, 'close')).toEqual([130, null])
    expect(pids.filter(lives)).toEqual([])
  })

  it('end with their parent', async () => {
    const run = start('wait')
    const pids = await waiting(run)
    run.parent.kill('SIGKILL')
    while (pids.some(lives)) await new Promise((resolve) => setTimeout(resolve, 20))
  })
})
