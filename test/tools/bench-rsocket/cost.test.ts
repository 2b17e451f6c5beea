import { describe, expect, it } from 'vitest'
import { costOf } from '../../../src/tools/bench-rsocket/cost.ts'
import { between, type CpuProfile, type ProfileNode } from '../../../src/tools/bench-rsocket/profiler.ts'

// As it is installed.
const base = 'file:///app/node_modules/verbena/dist'

function node(id: number, functionName: string, file: string, children: number[] = [], lines?: [number, number][]) {
  const url = file === '' || /^(node|wasm|file):/.test(file) ? file : `${base}/${file}.js`
  const made: ProfileNode = {
    id,
    callFrame: { functionName, url, lineNumber: 1, columnNumber: 1, scriptId: '1' },
    children,
  }
  if (lines) made.positionTicks = lines.map(([line, ticks]) => ({ line, ticks }))
  return made
}

function profile(nodes: ProfileNode[], samples: number[]): CpuProfile {
  return { nodes, startTime: 0, endTime: samples.length * 100, samples, timeDeltas: samples.map(() => 100) }
}

const costIn = (of: CpuProfile, name: string, source: (url: string, line: number) => string, asleep = 0) =>
  costOf(of, name, (url) => /^file:\/\/\/app\/node_modules\/verbena\/dist\/(.*)\.js$/.exec(url)?.[1], source, asleep)
const shares = (of: CpuProfile, source: (url: string, line: number) => string = () => '', asleep = 0) =>
  Object.fromEntries(costIn(of, 'thread', source, asleep).components.map(({ component, share }) => [component, share]))

describe('the component of a sample', () => {
  it('is the folder of its function, or what the engine calls it', () => {
    const nodes = [
      node(1, '(root)', '', [2, 9, 10]),
      node(2, 'pour', 'tools/bench-rsocket/loops', [3]),
      node(3, 'send', 'rsocket/send-side', [4]),
      node(4, 'postSend', 'verbs/queue-pair', [5, 6, 7, 8]),
      node(5, 'post', 'devices/shm/fast-path'),
      node(6, 'js-to-wasm', 'wasm://wasm/1'),
      node(7, 'close', ''),
      node(8, 'crc32', ''),
      node(9, '(garbage collector)', ''),
      node(10, '(program)', ''),
    ]
    expect(shares(profile(nodes, [2, 3, 4, 5, 6, 7, 8, 9, 10, 10]))).toEqual({
      benchmark: 0.1,
      rsocket: 0.1,
      verbs: 0.1,
      shm: 0.1,
      copies: 0.1,
      'system calls': 0.1,
      CRC: 0.1,
      'garbage collection': 0.1,
      'Node.js': 0.2,
    })
  })

  it('is that of another package where it is one', () => {
    const nodes = [
      node(1, '(root)', '', [2, 3]),
      node(2, 'draw', 'file:///app/node_modules/verbena/node_modules/other/dist/rsocket/x.js'),
      node(3, 'main', 'file:///app/dist/verbs/main.js'),
    ]
    expect(shares(profile(nodes, [2, 3]))).toEqual({ other: 1 })
  })

  it('is waiting where a function waits, but for copies, system calls and packets', () => {
    const nodes = [
      node(1, '(root)', '', [2]),
      node(2, 'wait', 'tools/bench-rsocket/engine-stream', [3]),
      node(3, 'process', 'rsocket/connection', [4, 5, 6]),
      node(4, 'poll', 'verbs/completion-queue'),
      node(5, 'receive', 'transport/responder'),
      node(6, 'recvmsg', ''),
    ]
    expect(shares(profile(nodes, [2, 3, 4, 4, 5, 6, 6, 6]))).toEqual({
      waiting: 0.5,
      transport: 0.125,
      'system calls': 0.375,
    })
  })

  it('is told by the caller where a function is of an addon, which V8 calls by any name of it', () => {
    const nodes = [
      node(1, '(root)', '', [2, 3, 4]),
      node(2, 'update', 'memory/native/crc32', [5]),
      node(3, 'send', 'memory/native/udp', [6]),
      node(4, 'waitReadable', 'memory/native/poll', [7]),
      ...[5, 6, 7].map((id) => node(id, 'crc32_gzip_refl', '')),
    ]
    expect(shares(profile(nodes, [5, 6, 6, 7]))).toEqual({ CRC: 0.25, 'system calls': 0.5, waiting: 0.25 })
  })

  it('is a copy where the line copies, by the lines of the whole profile', () => {
    const nodes = [
      node(1, '(root)', '', [2]),
      node(
        2,
        'recv',
        'rsocket/receive-side',
        [],
        [
          [10, 30],
          [11, 10],
        ],
      ),
    ]
    const source = (_: string, line: number) => (line === 10 ? 'buffer.set(from, at)' : 'return n')
    const cost = costIn(profile(nodes, [2, 2, 2, 2]), 'thread', source)
    expect(cost.components).toEqual([
      { component: 'copies', share: 0.75 },
      { component: 'rsocket', share: 0.25 },
    ])
    const frame = cost.root.children[0]!
    expect([frame.name, frame.samples, frame.children[0]!.component, frame.children[0]!.samples]).toEqual([
      'recv',
      4,
      'copies',
      3,
    ])
    expect(cost.functions.map(({ name, share }) => [name, share])).toEqual([
      ['copy of a typed array', 0.75],
      ['recv', 0.25],
    ])
  })

  it('is waiting for the time that a thread slept in system calls', () => {
    const nodes = [node(1, '(root)', '', [2]), node(2, 'send', 'memory/native/tcp', [3]), node(3, 'send', '')]
    expect(shares(profile(nodes, [2, 3, 3, 3]), undefined, 0.5)).toEqual({
      'system calls': 0.25,
      waiting: 0.5,
      memory: 0.25,
    })
    expect(shares(profile(nodes, [2, 3, 3, 3]), undefined, 0.9)).toEqual({ waiting: 0.75, memory: 0.25 })
  })

  it('does not show what brings a thread to its loop, and joins calls from one place', () => {
    const nodes = [
      node(1, '(root)', '', [2]),
      node(2, 'emit', 'node:events', [3]),
      node(3, 'answer', 'tools/kit/peer', [4, 5]),
      node(4, 'pour', 'tools/bench-rsocket/loops'),
      node(5, 'pour', 'tools/bench-rsocket/loops'),
    ]
    const { root } = costIn(profile(nodes, [4, 5, 5]), 'client', () => '')
    expect(root.samples).toBe(3)
    expect(root.children.map(({ name, samples }) => [name, samples])).toEqual([['pour', 3]])
  })

  it('is nothing where nothing was sampled', () => {
    expect(costIn(profile([node(1, '(root)', '')], []), 'x', () => '')).toMatchObject({ samples: 0, components: [] })
  })
})

describe('a profile between two times', () => {
  it('has the samples of that time only', () => {
    const whole = { ...profile([node(1, '(root)', '')], [1, 2, 3, 4, 5]), startTime: 1000 }
    const cut = between(whole, 1150, 1400)
    expect(cut.samples).toEqual([2, 3, 4])
    expect(cut.timeDeltas).toEqual([100, 100, 100])
    expect([cut.startTime, cut.endTime]).toEqual([1100, 1400])
  })
})
