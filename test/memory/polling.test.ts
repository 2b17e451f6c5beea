import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { allowedCores, currentCores, pinThread, quotaOf, runDelayNs } from '../../src/memory/native/host.ts'
import { Crowding, Polling, sleepCostNs } from '../../src/memory/polling.ts'
import { startThread } from '../../src/memory/threads.ts'

/** A machine whose scheduler does what the test says. */
function machine(cores = 2, every = 1) {
  const is = {
    ...{ cores, switches: 0, counted: 0, asked: 0, delayNs: 0, nowNs: 1e9 },
    /** Puts the thread aside, once in so long, of which it waits `share`. */
    putAside(share = 0.5, ns = 10e6) {
      is.switches++
      is.nowNs += ns
      is.delayNs += share * ns
    },
  }
  const of = new Crowding(
    {
      count: () => {
        is.counted++
        return is.cores
      },
      switches: () => {
        is.asked++
        return is.switches
      },
      delayNs: () => is.delayNs,
      nowNs: () => is.nowNs,
    },
    every,
  )
  return { is, polling: () => new Polling(of) }
}

/** How many of the next waits do not poll. */
function skipped(polling: Polling): number {
  let n = 0
  while (polling.begin() === 0) n++
  return n
}

test('a wait polls for as long as a sleep costs, while polling pays', () => {
  const polling = machine().polling()
  for (let i = 0; i < 10; i++) {
    expect(polling.begin()).toBe(sleepCostNs)
    polling.paid()
  }
})

test('waits after one that polled in vain do not poll: twice as many each time, at most 64', () => {
  const polling = machine().polling()
  polling.begin()
  const seen: number[] = []
  for (let i = 0; i < 9; i++) {
    polling.wasted()
    seen.push(skipped(polling))
  }
  expect(seen).toEqual([1, 2, 4, 8, 16, 32, 64, 64, 64])
  polling.paid()
  polling.begin()
  polling.wasted()
  expect(skipped(polling)).toBe(1)
})

test('with one core nobody polls, and it is seen that there are more now', () => {
  const { is, polling } = machine(1)
  const one = polling()
  for (let i = 0; i < 100; i++) expect(one.begin()).toBe(0)
  expect(is.counted).toBe(1)
  is.cores = 2
  expect(skipped(one)).toBeLessThan(257)
})

test('a thread that is put aside while it polls does not poll for a while, wherever it waits: longer each time', () => {
  const { is, polling } = machine()
  const [one, other] = [polling(), polling()]
  const seen: number[] = []
  for (let i = 0; i < 5; i++) {
    seen.push(skipped(other))
    is.putAside()
    other.paid()
    // Of a wait that does not poll it means nothing.
    is.putAside()
  }
  expect(seen).toEqual([0, 16, 256, 4096, 4096])
  // Undisturbed waits halve the number.
  skipped(one)
  for (let i = 0; i < 12; i++) {
    one.paid()
    expect(one.begin()).toBe(sleepCostNs)
  }
  is.putAside()
  one.paid()
  expect(skipped(one)).toBe(16)
})

test('a thread that is put aside for short times polls all the same, as often as that may be', () => {
  const { is, polling } = machine()
  const one = polling()
  for (let i = 0; i < 1000; i++) {
    expect(one.begin()).toBe(sleepCostNs)
    is.putAside(0.03)
    one.paid()
  }
  // Then others begin to compute: it is seen as soon as there has been time enough to see it.
  for (let i = 0; i < 9; i++) {
    expect(one.begin()).toBe(sleepCostNs)
    is.putAside(0.5, 1e6)
    one.paid()
  }
  expect(one.begin()).toBe(sleepCostNs)
  is.putAside(0.5, 2e6)
  one.paid()
  expect(skipped(one)).toBe(16)
})

test('where the kernel does not say for how long, being put aside is enough', () => {
  const { is, polling } = machine()
  const one = polling()
  is.delayNs = Number.NaN
  one.begin()
  is.putAside(0)
  one.paid()
  expect(skipped(one)).toBe(16)
})

test('a thread that is bound to one core may poll on it: the others have others', () => {
  const before = currentCores()
  const cores = allowedCores()
  if (before.length > 0) expect(pinThread(before.slice(0, 1))).toBe(true)
  try {
    expect(allowedCores()).toBe(cores)
  } finally {
    pinThread(before)
  }
})

test.skipIf(currentCores().length === 0)('so may a thread that a bound thread has started', async () => {
  const [before, cores] = [currentCores(), allowedCores()]
  pinThread(before.slice(0, 1))
  try {
    const worker = startThread(new URL('./cores.worker.ts', import.meta.url))
    const [said] = await once(worker, 'message')
    expect(said).toEqual({ inherited: before.slice(0, 1), allowed: cores, ofProcess: before })
  } finally {
    pinThread(before)
  }
})

test.skipIf(Number.isNaN(runDelayNs()))('the kernel tells this thread how long it has waited for a core', () => {
  const before = runDelayNs()
  expect(before).toBeGreaterThanOrEqual(0)
  expect(runDelayNs()).toBeGreaterThanOrEqual(before)
})

test('what one place wastes is not another’s', () => {
  const { polling } = machine()
  const [one, other] = [polling(), polling()]
  one.begin()
  one.wasted()
  expect(other.begin()).toBe(sleepCostNs)
})

test('while polling pays, the scheduler is asked now and then only', () => {
  const { is, polling } = machine(2, 16)
  const one = polling()
  for (let i = 0; i < 160; i++) {
    one.begin()
    one.paid()
  }
  expect(is.asked).toBe(11)
  is.putAside()
  one.begin()
  one.wasted()
  expect(skipped(one)).toBe(16 + 1)
})

test('a wait of several turns polls until its time is over, or until what it is for comes', () => {
  const polling = machine().polling()
  // Nothing waits yet.
  polling.came(5)
  expect(polling.polls).toBe(false)
  expect([polling.goesOn(10), polling.goesOn(9 + sleepCostNs), polling.polls]).toEqual([true, true, true])
  polling.came(9 + sleepCostNs)
  expect([polling.polls, polling.goesOn(20)]).toEqual([false, true])
  // Left for another reason: the next one polls all the same.
  polling.leave()
  expect([polling.polls, polling.goesOn(30), polling.goesOn(30 + sleepCostNs)]).toEqual([false, true, false])
  // In vain, so that one wait does not poll; and then one for which it came too late.
  expect([polling.goesOn(40), polling.goesOn(50)]).toEqual([false, true])
  polling.came(50 + sleepCostNs)
  expect(skipped(polling)).toBe(2)
})

describe('the time on cores that control groups give', () => {
  /** In a machine whose files are these. */
  const quota = (files: Record<string, string>): number => quotaOf((path) => files[path] ?? null)

  test.each([
    ['no control groups', {}, Number.POSITIVE_INFINITY],
    [
      'the second version, without a limit',
      { '/proc/self/cgroup': '0::/a\n', '/sys/fs/cgroup/a/cpu.max': 'max 100000\n' },
      Number.POSITIVE_INFINITY,
    ],
    ['in a container', { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': '50000 100000\n' }, 0.5],
    [
      'the least of a group and those around it',
      {
        '/proc/self/cgroup': '0::/a/b/c\n',
        '/sys/fs/cgroup/a/b/c/cpu.max': 'max 100000\n',
        '/sys/fs/cgroup/a/b/cpu.max': '150000 100000\n',
        '/sys/fs/cgroup/a/cpu.max': '400000 100000\n',
      },
      1.5,
    ],
    [
      'by a path of the host, of which the container has the end only',
      { '/proc/self/cgroup': '0::/docker/1a2b\n', '/sys/fs/cgroup/cpu.max': '200000 100000\n' },
      2,
    ],
    [
      'the first version',
      {
        '/proc/self/cgroup': '5:memory:/m\n4:cpu,cpuacct:/a\n0::/\n',
        '/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us': '25000\n',
        '/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us': '100000\n',
        '/sys/fs/cgroup/memory/m/cpu.max': '1 100000\n',
      },
      0.25,
    ],
    [
      'the first version, without a limit',
      {
        '/proc/self/cgroup': '4:cpu:/\n',
        '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n',
        '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
      },
      Number.POSITIVE_INFINITY,
    ],
  ])('%s', (_, files, cores) => {
    expect(quota(files)).toBe(cores)
  })
})
