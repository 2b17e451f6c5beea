/** `runRanks`: exit codes, the last lines of ranks, and what becomes of them when their parent is interrupted or killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { runRanks } from '../../../src/collectives/index.ts'
import { nativeAvailable } from '../../../src/memory/index.ts'
import { startable } from '../../entries.ts'
import { programMs } from '../../patience.ts'

const { file, execArgv } = startable(new URL('./local-rank.process.ts', import.meta.url))

/** `detached`: with its processes in a group of its own, which a terminal would send Ctrl-C to. */
function start(what: string, detached = false): { parent: ChildProcess; err: () => string } {
  const parent = spawn(process.execPath, [...execArgv, file, what], {
    ...{ timeout: programMs, detached, stdio: ['ignore', 'ignore', 'pipe'] },
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

/** R, S, T, Z, …; empty where there is no such process. */
function stateOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.charAt(stat.lastIndexOf(')') + 2)
  } catch {
    return ''
  }
}

/** Not one that has ended and whose new parent has not looked. */
function lives(pid: number): boolean {
  return !['', 'Z'].includes(stateOf(pid))
}

describe.skipIf(process.platform !== 'linux')('processes of runRanks', () => {
  it('the code is that of a rank that was killed, though one that fails since then is noticed before', async () => {
    const program = `
      if (process.env.VERBENA_RANK === '0') setTimeout(() => process.exit(1), 300)
      else setTimeout(() => process.kill(process.pid, 'SIGKILL'), 350)`
    const ended = runRanks({ size: 2, args: ['-e', program], onLine: () => {} })
    // This thread notices both ends at once.
    setTimeout(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500), 100)
    expect(await ended).toBe(137)
  })

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

  it('get one signal for each Ctrl-C of a terminal, however long they take to end', async () => {
    const run = start('save', true)
    await waiting(run)
    process.kill(-run.parent.pid!, 'SIGINT')
    expect(await once(run.parent, 'close')).toEqual([130, null])
    expect(run.err().match(/saved after \d signal\b/g)).toEqual(Array(2).fill('saved after 1 signal'))
  })

  it('stop and continue with their parent', async () => {
    const run = start('wait', true)
    const pids = await waiting(run)
    const all = [run.parent.pid!, ...pids]
    process.kill(-run.parent.pid!, 'SIGTSTP')
    while (!all.every((pid) => stateOf(pid) === 'T')) await new Promise((resolve) => setTimeout(resolve, 20))
    process.kill(-run.parent.pid!, 'SIGCONT')
    while (all.some((pid) => stateOf(pid) === 'T')) await new Promise((resolve) => setTimeout(resolve, 20))
    run.parent.kill('SIGINT')
    expect(await once(run.parent, 'close')).toEqual([130, null])
  })

  it('end with their parent', async () => {
    const run = start('wait')
    const pids = await waiting(run)
    run.parent.kill('SIGKILL')
    // By themselves they would end after thirty seconds.
    await expect.poll(() => pids.filter(lives), { timeout: 10_000 }).toEqual([])
  })

  it.skipIf(!nativeAvailable)('end with their parent, also where they never look at their events', async () => {
    const run = start('blocked')
    const pids = await waiting(run)
    run.parent.kill('SIGKILL')
    // By themselves they would end after thirty seconds.
    await expect.poll(() => pids.filter(lives), { timeout: 10_000 }).toEqual([])
  })

  it('end when one of them fails, also after a signal that did not end them', async () => {
    const run = start('hangup')
    const pids = await waiting(run)
    run.parent.kill('SIGHUP')
    expect(await once(run.parent, 'close')).toEqual([3, null])
    expect(pids.filter(lives)).toEqual([])
  })
})
