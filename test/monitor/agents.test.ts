import { describe, expect, it } from 'vitest'
import { Agents, Merger, monitorConfig, planDifference, Window } from '../../src/monitor/index.ts'
import { Traffic } from './traffic.ts'

const config = monitorConfig({ seed: 1, memoryBytes: 2 ** 20 })
const start = 1_700_000_000

/** A window with one packet counted. */
function windowOf(run: string, sequence: number, index: number, plan = config): Window {
  const window = new Window(plan, index)
  window.parts.push({ agent: `agent ${run}`, run, sequence })
  window.counters[0] = 1
  return window
}

function collector(vanishMs = 10_000) {
  const out: [start: number, packets: number, late: boolean][] = []
  const onWindow = (window: Window): void => {
    out.push([window.index - start, window.count('packets'), window.late])
  }
  const agents = new Agents({ plan: config, vanishMs, onWindow })
  const add = (run: string, sequence: number, at = sequence): boolean =>
    agents.add(windowOf(run, sequence, start + at), (start + at + 1) * 1000)
  return { agents, out, add }
}

describe('a collector', () => {
  it('merges windows of one time when all agents are past the next one, too', () => {
    const { add, agents, out } = collector()
    add('a', 0)
    add('b', 0)
    add('a', 1)
    expect(out).toEqual([])
    add('b', 1)
    expect(out).toEqual([[0, 2, false]])
    agents.flush()
    expect(out.at(-1)).toEqual([1, 2, false])
  })

  it('counts a window that comes again once, also after a restart', () => {
    const first = collector()
    expect([first.add('a', 0), first.add('a', 0), first.add('a', 1)]).toEqual([true, false, true])
    const second = collector()
    for (const sequence of [0, 1]) second.agents.restore({ agent: 'agent a', run: 'a', sequence })
    expect([second.add('a', 1), second.add('a', 2), second.add('a', 2)]).toEqual([false, true, false])
    second.agents.flush()
    expect(second.out).toEqual([[2, 1, false]])
    expect(second.agents.states()[0]).toMatchObject({ windows: 3, repeated: 2, missing: 0 })
  })

  it('does not wait for ever for an agent that lags, and says so', () => {
    const { add, agents, out } = collector()
    add('slow', 0)
    for (let i = 0; i < 12; i++) add('fast', i)
    // Eight windows wait for it.
    expect(out.map(([at]) => at)).toEqual([0, 1, 2, 3])
    expect(agents.states().map(({ state }) => state)).toEqual(['lags', 'here'])
    add('slow', 1)
    // Its time is over: it is handed on by itself.
    expect(out.at(-1)).toEqual([1, 1, true])
  })

  it('goes on without an agent that has vanished, until it comes back', () => {
    const { add, agents, out } = collector(5000)
    add('a', 0)
    add('gone', 0)
    for (const at of [1, 2, 3]) add('a', at)
    expect(out).toEqual([])
    agents.tick((start + 6.5) * 1000)
    expect(agents.states().map(({ name, state }) => [name, state])).toEqual([
      ['agent a', 'here'],
      ['agent gone', 'vanished'],
    ])
    expect(out).toEqual([
      [0, 2, false],
      [1, 1, false],
      [2, 1, false],
    ])
    add('gone', 3, 7)
    expect(agents.states()[1]).toMatchObject({ state: 'here', missing: 2 })
  })

  it('does not let a clock that is ahead make all others late', () => {
    const { add, agents, out } = collector()
    add('a', 0)
    agents.add(windowOf('wrong', 0, start + 4000), (start + 1) * 1000)
    expect(out).toEqual([[4000, 1, true]])
    for (const at of [1, 2, 3]) add('a', at)
    expect(out.slice(1).map(([at, , late]) => [at, late])).toEqual([
      [0, false],
      [1, false],
      [2, false],
    ])
    expect(agents.states()[1]!.aheadSeconds).toBe(4000)
  })

  it('does not let a clock that is some windows ahead make all others late', () => {
    const { add, agents, out } = collector()
    for (let i = 0; i < 20; i++) {
      agents.add(windowOf('wrong', i, start + i + 20), (start + i + 1) * 1000)
      add('a', i)
    }
    const ofA = out.filter(([at]) => at < 20)
    expect(ofA.map(([at, , late]) => [at, late])).toEqual(Array.from({ length: 19 }, (_, i) => [i, false]))
    expect(agents.states().map(({ aheadSeconds, state }) => [aheadSeconds, state])).toEqual([
      [20, 'here'],
      [0, 'here'],
    ])
    // Its clock is right again.
    agents.add(windowOf('wrong', 20, start + 20), (start + 21) * 1000)
    add('a', 20)
    add('a', 21)
    agents.add(windowOf('wrong', 21, start + 21), (start + 22) * 1000)
    expect(out.at(-1)).toEqual([20, 3, false])
    expect(agents.states()[0]!.aheadSeconds).toBe(0)
  })

  it('believes its agents where their clocks agree, and its own is behind', () => {
    const { agents, out } = collector()
    for (let i = 0; i < 4; i++)
      for (const run of ['a', 'b']) agents.add(windowOf(run, i, start + i + 100), (start + i + 1) * 1000)
    agents.flush()
    expect(out).toEqual([100, 101, 102, 103].map((at) => [at, 2, false]))
    expect(agents.states().map(({ aheadSeconds }) => aheadSeconds)).toEqual([0, 0])
  })

  it('does not wait for an agent whose clock is always behind', () => {
    const { agents, add, out } = collector()
    for (let i = 0; i < 40; i++) {
      add('a', i + 20)
      agents.add(windowOf('behind', i, start + i), (start + i + 21) * 1000)
    }
    expect(out.filter(([, , late]) => !late).at(-1)).toEqual([58, 1, false])
    // Its clock is right again: it is waited for.
    for (const i of [40, 41, 42]) {
      add('a', i + 20)
      if (i < 42) agents.add(windowOf('behind', i, start + i + 20), (start + i + 21) * 1000)
    }
    expect(out.filter(([, , late]) => !late).at(-1)).toEqual([60, 2, false])
  })

  it('knows by its own time who is silent, whatever the clock of the day does', () => {
    const { agents } = collector(5000)
    agents.add(windowOf('a', 0, start), start * 1000, 1000)
    agents.add(windowOf('b', 0, start), (start + 3600) * 1000, 2000)
    agents.tick(5000)
    expect(agents.states().map(({ state }) => state)).toEqual(['here', 'here'])
    agents.tick(6500)
    expect(agents.states().map(({ state }) => state)).toEqual(['vanished', 'here'])
  })

  it('knows what runs sent that began long ago, and counts what came out of order', () => {
    const { agents, add } = collector()
    for (let n = 0; n < 4100; n++) {
      agents.restore({ agent: 'old', run: 'old', sequence: n })
      agents.restore({ agent: 'x', run: `run ${n}`, sequence: 0 })
    }
    expect(agents.isNew({ agent: 'old', run: 'old', sequence: 0 })).toBe(false)
    for (const sequence of [0, 1, 3]) agents.restore({ agent: 'b', run: 'b', sequence })
    add('b', 4)
    expect(agents.states()[0]).toMatchObject({ windows: 4, missing: 1 })
  })

  it('refuses other versions, seeds and sizes, with the reason', () => {
    const { agents } = collector()
    const other = { ...config, seed: monitorConfig({ seed: 2 }).seed }
    expect(() => agents.add(windowOf('a', 0, start, other), 0)).toThrow('have another seed')
    expect(planDifference(config, { ...config, version: 7 })).toContain('version 7')
    expect(planDifference(config, { ...config, sketchBytes: 1 })).toContain('1 bytes')
    expect(planDifference(config, config)).toBeUndefined()
  })
})

it('a merger keeps the order of time of two files that are read at once', () => {
  const out: number[] = []
  const merger = new Merger({ onWindow: ({ index }) => out.push(index) })
  for (const file of ['a', 'b']) merger.join(file)
  merger.add('a', windowOf('a', 0, 5))
  merger.add('a', windowOf('a', 1, 6))
  expect(merger.lead('a')).toBe(2)
  merger.add('b', windowOf('b', 0, 3))
  expect(out).toEqual([3])
  merger.leave('b')
  merger.flush()
  expect(out).toEqual([3, 5, 6])
})

describe('windows', () => {
  it('follow the time of packets, and begin anew when the clock goes back', () => {
    const traffic = new Traffic()
    traffic.send(0)
    traffic.send(1, {}, 1_200_000_000)
    // A little back: another interface.
    traffic.send(2, {}, -400_000_000)
    traffic.send(3, {}, 5_000_000_000)
    traffic.send(4, {}, -4_000_000_000)
    traffic.observer.finish()
    expect(
      traffic.windows.map((window) => [window.index - start, window.count('packets'), window.count('clockBack')]),
    ).toEqual([
      [0, 1, 0],
      [1, 2, 0],
      [5, 1, 0],
      [1, 1, 1],
    ])
    expect(traffic.windows.map(({ parts }) => parts[0]!.sequence)).toEqual([0, 1, 2, 3])
  })

  it('end with the clock where no packet comes', () => {
    const traffic = new Traffic()
    traffic.send(0)
    for (const second of [0.9, 1.1, 2.5]) traffic.observer.tick((start + second) * 1000)
    traffic.observer.finish()
    expect(traffic.windows.map(({ index }) => index - start)).toEqual([0, 1, 2])
  })
})
