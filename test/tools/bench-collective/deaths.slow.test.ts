/** `verbena bench collective` when a rank is killed, missing or different, and when messages are lost. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/index.ts'
import { type Outcome, outcome, startProcess } from '../../cli/run.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-collective-'))
afterAll(() => rmSync(folder, { recursive: true }))

const here = process.platform === 'linux' && nativeAvailable

/** The processes whose environment has this. */
function processesWith(variable: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/environ`, 'latin1').includes(variable)
        ? [Number(name)]
        : []
    } catch {
      return []
    }
  })
}

const segments = (name: string): string[] => readdirSync('/dev/shm').filter((file) => file.includes(name))

let runs = 0

/** Four ranks on a segment of their own; rank `victim` is killed when `ready` says so. */
async function killed(
  victim: number,
  args: string[],
  ready: (out: string) => boolean,
): Promise<Outcome & { name: string }> {
  const name = `deaths-${process.pid}-${++runs}`
  const out = join(folder, name)
  const program = startProcess(
    ['bench', 'collective', '--procs', '4', '--device', `shm:${name}`, '--out', out, '--timeout', '20', ...args],
    { env: { ...process.env, VERBENA_TEST_RUN: `${name};` } },
  )
  let over = false
  const ended = outcome(program).finally(() => {
    over = true
  })
  const ofRun = (): number[] =>
    processesWith(`VERBENA_TEST_RUN=${name};`).filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`VERBENA_RANK=${victim}`)
      } catch {
        return false
      }
    })
  while (!(ready(out) && ofRun().length > 0)) {
    expect(over).toBe(false)
    await delay(10)
  }
  process.kill(ofRun()[0]!, 'SIGKILL')
  const result = await ended
  await expect.poll(() => processesWith(`VERBENA_TEST_RUN=${name};`)).toEqual([])
  await expect.poll(() => segments(name)).toEqual([])
  return { ...result, name }
}

const saved = (out: string): number => {
  try {
    return readdirSync(out).filter((file) => file.endsWith('.csv')).length
  } catch {
    return 0
  }
}

const long = ['--repetitions', '100000', '--size', '1']

describe.skipIf(!here)('a killed rank ends all, with its name, and leaves no process and no segment', () => {
  it.each([
    ['before the ranks have met', 2, long, () => true],
    ['before the first set', 3, [...long, '--warmup', '10000'], (out: string) => readable(join(out, 'run.json'))],
    [
      'in a set of SEND',
      2,
      ['--repetitions', '500', '--size', '1,2,4,8', '--mode', 'SEND'],
      (out: string) => saved(out) > 3,
    ],
    [
      'in a set of WRITE',
      3,
      ['--repetitions', '500', '--size', '1,2,4,8', '--mode', 'WRITE'],
      (out: string) => saved(out) > 3,
    ],
    [
      'in a set of READ',
      1,
      ['--repetitions', '500', '--size', '1,2,4,8', '--mode', 'READ'],
      (out: string) => saved(out) > 3,
    ],
    ['that sleeps in this set', 3, [...long, '--processes', '1'], (out: string) => readable(join(out, 'run.json'))],
  ] as const)('%s', async (_, victim, args, ready) => {
    const { code, stderr } = await killed(victim, [...args], ready)
    expect(code).toBe(137)
    expect(stderr).toMatch(new RegExp(`rank ${victim}: was killed \\(SIGKILL\\)`))
  })

  it('rank 0: another one says it, and what was measured is there', async () => {
    const { code, stderr, name } = await killed(
      0,
      ['--repetitions', '2000', '--size', '1,2,4,8,16'],
      (out) => saved(out) > 5,
    )
    expect(code).toBe(137)
    expect(stderr).toMatch(/rank 1: .*rank 0 \(.*\) is gone/)
    expect(saved(join(folder, name))).toBeGreaterThan(5)
  })
})

function readable(file: string): boolean {
  try {
    return readFileSync(file).length > 0
  } catch {
    return false
  }
}

describe.skipIf(!here)('ranks that are started by hand', () => {
  const start = (rank: number, port: number, ...more: string[]): Promise<Outcome> =>
    outcome(
      startProcess(
        [
          'bench',
          'collective',
          '--rank',
          String(rank),
          '--ranks',
          '3',
          '--meet',
          `127.0.0.1:${port}`,
          '--timeout',
          '3',
          ...more,
        ],
        { env: { ...process.env, VERBENA_KEY: 'a key of tests, long enough' } },
      ),
    )

  it('name the one that is missing', async () => {
    const all = await Promise.all([start(0, 28_111), start(2, 28_111)])
    for (const { code } of all) expect(code).toBe(1)
    expect(all[0]!.stderr).toMatch(/rank 1 of 3 did not come within 3 s/)
  })

  it('name the one with other settings', async () => {
    const all = await Promise.all([start(0, 28_112), start(1, 28_112, '--size', '8'), start(2, 28_112)])
    for (const { code } of all) expect(code).toBe(1)
    expect(all[0]!.stderr).toMatch(/rank 1 \(.*\) has other settings than rank 0 .*: size is \[8\] there/)
  })
})

it.skipIf(!here)('counts what UC, UD and multicast lose on a network', async () => {
  const { code, stdout, stderr } = await outcome(
    startProcess(
      [
        ...[
          'bench',
          'collective',
          '--procs',
          '3',
          '--device',
          'roce:127.0.0.%r',
          '--size',
          '64',
          '--repetitions',
          '60',
        ],
        ...[
          '--warmup',
          '1',
          '--processes',
          '2',
          '--mode',
          'SEND',
          '--transport',
          'UC,UD,multicast',
          '--lost-after',
          '20',
          '--json',
          '--out',
          join(folder, 'lossy'),
        ],
      ],
      { env: { ...process.env, VERBENA_FAULTS: 'loss=4%' } },
    ),
  )
  expect(stderr).not.toMatch(/rank/)
  expect(code).toBe(0)
  const { runs } = JSON.parse(stdout) as {
    runs: { settings: { transport: string }; time: { count: number }; lost: number }[]
  }
  for (const { settings, time, lost } of runs) {
    expect(time.count, settings.transport).toBeLessThan(60)
    expect(lost > 0.005 && lost < 0.5, `${settings.transport} ${lost}`).toBe(true)
  }
  expect(new Set(runs.map(({ settings }) => settings.transport)).size).toBeGreaterThanOrEqual(3)
})
