/**
 * Two byte streams against a model: random chunks, reads, shutdowns and closes at both ends, on shared memory and on a
 * link that loses, repeats, reorders and damages packets. What a reader gets is what was written, in order; the end of a
 * stream comes when all before it was read.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openDevice } from '../../../src/index.ts'
import type { StreamOptions } from '../../../src/rsocket/protocol/options.ts'
import type { StreamLink } from '../../../src/rsocket/protocol/stream-link.ts'
import { Trunk } from '../../../src/rsocket/protocol/trunk.ts'
import type { TrunkStream } from '../../../src/rsocket/protocol/trunk-stream.ts'
import { holds } from '../../property.ts'
import { seeded } from '../../random.ts'
import { link, onLastTry, registerVirtual } from '../../transport/virtual.ts'
import { ageStream, connectEnds, type End, makeEnd, settle } from './pair.ts'

type Action = 'send' | 'recv' | 'process' | 'shutdownWrite' | 'shutdownRead' | 'disconnect' | 'keepalive'

interface Step {
  who: 0 | 1
  action: Action
  size: number
}

const step: fc.Arbitrary<Step> = fc.record({
  who: fc.constantFrom(0, 1),
  action: fc.oneof(
    { weight: 40, arbitrary: fc.constant<Action>('send') },
    { weight: 30, arbitrary: fc.constant<Action>('recv') },
    { weight: 25, arbitrary: fc.constant<Action>('process') },
    { weight: 2, arbitrary: fc.constant<Action>('keepalive') },
    { weight: 1, arbitrary: fc.constant<Action>('shutdownWrite') },
    { weight: 1, arbitrary: fc.constant<Action>('shutdownRead') },
    { weight: 1, arbitrary: fc.constant<Action>('disconnect') },
  ),
  size: fc.oneof(
    fc.integer({ min: 1, max: 64 }),
    fc.integer({ min: 1, max: 5000 }),
    fc.integer({ min: 1, max: 200_000 }),
  ),
})

const options: fc.Arbitrary<Partial<StreamOptions>> = fc.record({
  sqSize: fc.constantFrom(16, 20, 384),
  rqSize: fc.constantFrom(16, 33, 384),
  sendBufferBytes: fc.constantFrom(4096, 10_000, 1 << 17),
  receiveBufferBytes: fc.constantFrom(4096, 9999, 1 << 17),
  receiveBufferTimes: fc.constantFrom(1, 3, 4),
  extensions: fc.boolean(),
})

const program = fc.record({
  one: options,
  other: options,
  steps: fc.array(step, { minLength: 1, maxLength: 300, size: 'max' }),
})
type Program = typeof program extends fc.Arbitrary<infer T> ? T : never

/** Byte `at` of the stream that `who` writes. */
const byteAt = (who: number, at: number): number => (at * 31 + (at >> 8) * 7 + who * 101) & 0xff
const scratch = new Uint8Array(200_000)

/** What should be true of one direction. */
class Direction {
  sent = 0
  received = 0
  /** The writer has ended it: nothing is taken any more. */
  ended = false
  /** The reader does not want it any more. */
  unread = false
}

interface Linked {
  connection: StreamLink
}

class Run {
  readonly ends: readonly [Linked, Linked]
  /** What end 0 writes, and what end 1 writes. */
  readonly ways: readonly [Direction, Direction] = [new Direction(), new Direction()]

  constructor(ends: readonly [Linked, Linked]) {
    this.ends = ends
  }

  do({ who, action, size }: Step): void {
    const { connection } = this.ends[who]
    const out = this.ways[who]
    const back = this.ways[1 - who]!
    switch (action) {
      case 'send': {
        for (let i = 0; i < size; i++) scratch[i] = byteAt(who, out.sent + i)
        const n = connection.send(scratch, 0, size)
        if (out.ended) expect(n, 'taken after the end').toBe(0)
        out.sent += n
        break
      }
      case 'recv':
        this.read(who, size)
        break
      case 'process':
        connection.process()
        break
      case 'keepalive':
        connection.sendKeepalive()
        break
      case 'shutdownWrite':
        connection.shutdownWrite()
        out.ended = true
        break
      case 'shutdownRead':
        connection.shutdownRead()
        back.unread = true
        if (!connection.open) out.ended = true
        break
      case 'disconnect':
        connection.disconnect()
        out.ended = true
        // What is on its way to here may not arrive any more.
        back.unread = true
        break
    }
  }

  read(who: 0 | 1, size: number): number {
    const way = this.ways[1 - who]!
    const n = this.ends[who].connection.recv(scratch, 0, size)
    for (let i = 0; i < n; i++)
      if (scratch[i] !== byteAt(1 - who, way.received + i))
        throw new Error(
          `byte ${way.received + i} to end ${who} is ${scratch[i]}, not ${byteAt(1 - who, way.received + i)}`,
        )
    way.received += n
    if (way.received > way.sent) throw new Error(`end ${who} received ${way.received} bytes of ${way.sent}`)
    return n
  }

  /** Reads all that is left; then everything that was sent has been received, unless somebody did not want it. */
  finish(onward: () => void): void {
    for (let quiet = 0, turns = 0; quiet < 50; turns++) {
      if (turns > 1_000_000) throw new Error('it does not come to rest')
      onward()
      let moved = 0
      for (const who of [0, 1] as const) {
        const { connection } = this.ends[who]
        moved += connection.process() + this.read(who, scratch.length)
        connection.reap()
      }
      quiet = moved > 0 ? 0 : quiet + 1
    }
    for (const { connection } of this.ends) expect(connection.error, connection.reason).toBe(0)
    for (const who of [0, 1] as const) {
      const { connection } = this.ends[who]
      const way = this.ways[1 - who]!
      if (!way.unread) expect(way.received).toBe(way.sent)
      if (way.ended && !way.unread) expect(connection.readable).toBe(false)
      if (!this.ways[who].ended && connection.open) {
        // And it can go on: the buffers and credits have come back.
        expect(connection.writableBytes).toBeGreaterThan(0)
      }
    }
  }
}

function runOn(open: () => readonly [End, End], onward: () => void, program: Program, wrap = 0): void {
  const ends = open()
  try {
    connectEnds(ends[0], ends[1], { timeout: 12 })
    if (wrap > 0) {
      settle(...ends)
      ageStream(ends[0], ends[1], wrap)
      ageStream(ends[1], ends[0], wrap)
    }
    const run = new Run(ends)
    for (const step of program.steps) {
      run.do(step)
      onward()
    }
    run.finish(onward)
  } finally {
    for (const end of ends) end.close()
  }
}

test('two streams on shared memory, at once and just before their counts wrap', () => {
  const context = openDevice('shm0')
  holds(
    fc.property(program, fc.constantFrom(0, 2 ** 31, 2 ** 32), (given, wrap) => {
      runOn(
        () => [makeEnd(context, given.one), makeEnd(context, given.other)],
        () => {},
        given,
        wrap,
      )
    }),
    50,
    1500,
  )
  context.close()
})

const streamCount = 3

test('streams of a trunk on shared memory', () => {
  const context = openDevice('shm0')
  const steps = fc.array(
    step.chain((one) => fc.integer({ min: 0, max: streamCount - 1 }).map((stream) => ({ ...one, stream }))),
    { minLength: 1, maxLength: 400, size: 'max' },
  )
  const property = fc.record({ one: options, other: options, steps })
  holds(
    fc.property(property, (given) => {
      // A trunk is between two Verbena ends.
      const ends = [
        makeEnd(context, { ...given.one, extensions: true }),
        makeEnd(context, { ...given.other, extensions: true }),
      ] as const
      try {
        connectEnds(ends[0], ends[1])
        const arrived: TrunkStream[] = []
        const idle = (): void => {}
        // The last numbers of streams, behind which they begin again.
        const near = new Trunk(ends[0].connection, { idle }, streamCount, 0xfffffe)
        const far = new Trunk(ends[1].connection, { idle, arrive: (stream) => arrived.push(stream) > 0 })
        const opened = Array.from({ length: streamCount }, () => near.openStream())
        for (const stream of opened) stream.onAnswer = () => {}
        for (let i = 0; i < 20; i++) {
          near.process()
          far.process()
        }
        const runs = opened.map((stream, i) => new Run([{ connection: stream }, { connection: arrived[i]! }]))
        for (const { stream, ...one } of given.steps) runs[stream]!.do(one)
        // What is left of one is not read before the others' turn: none waits for another.
        for (const run of runs) run.finish(() => {})
        expect(ends[0].connection.error + ends[1].connection.error).toBe(0)
      } finally {
        for (const end of ends) end.close()
      }
    }),
    50,
    1500,
  )
  context.close()
})

registerVirtual()

test('two streams on a link with faults', () => {
  const contexts = [openDevice('virtual0'), openDevice('virtual1')] as const
  const faults = fc.record({
    seed: fc.integer(),
    loss: fc.constantFrom(0, 0.02, 0.1),
    duplication: fc.constantFrom(0, 0.05),
    reordering: fc.constantFrom(0, 0.05),
    corruption: fc.constantFrom(0, 0.02),
  })
  const property = fc.record({ given: program, faults })
  holds(
    fc.property(property, ({ given, faults: { seed, ...rates } }) => {
      link.random = seeded(seed)
      link.faults = {}
      const open = (): readonly [End, End] => [makeEnd(contexts[0], given.one), makeEnd(contexts[1], given.other)]
      try {
        runOn(
          () => {
            const ends = open()
            link.faults = { ...rates, spares: onLastTry }
            return ends
          },
          () => link.step(),
          given,
        )
      } finally {
        link.faults = {}
        while (link.step());
      }
    }),
    50,
    1500,
  )
  for (const context of contexts) context.close()
})
