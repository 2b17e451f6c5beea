/**
 * The rules of the queues over random settings, batches and orders of completion, on an adapter that is a model: whose a sample is,
 * what is inline and what is signaled, that no queue overflows, and that nothing is lost or given back twice.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Pool, SampleField } from '../../../../src/gateway/index.ts'
import { newCounters } from '../../../../src/gateway/nodes/infiniband/counters.ts'
import { ReceiveSide } from '../../../../src/gateway/nodes/infiniband/receive-side.ts'
import { SendSide } from '../../../../src/gateway/nodes/infiniband/send-side.ts'
import type { InfinibandSettings } from '../../../../src/gateway/nodes/infiniband/settings.ts'
import {
  type RecvWorkRequest,
  type RecvWrInit,
  SendFlag,
  type SendWorkRequest,
  type SendWrInit,
  VerbsError,
  WcStatus,
  type WorkCompletion,
} from '../../../../src/index.ts'
import { holds } from '../../../property.ts'

const capacity = 256
const room = 16

/** A pool that the model reaches at address 0. */
function makePool(): { pool: Pool; memory: { pool: Pool; lkey: number; addr: number; grh: null } } {
  const pool = Pool.create(capacity, room)
  return { pool, memory: { pool, lkey: 1, addr: 0, grh: null } }
}

function take(pool: Pool, count: number): Int32Array {
  const list = new Int32Array(count)
  expect(pool.take(list, 0, count)).toBe(count)
  return list
}

/** The sample that an element points into. */
function sampleAt(pool: Pool, addr: number): number {
  const bytes = pool.samples.word(1) * 4
  expect((addr - SampleField.sequence * 4) % bytes).toBe(0)
  return (addr - SampleField.sequence * 4) / bytes
}

interface Entry {
  wrId: number
  sample: number
  sequence: number
  inline: boolean
  executed: boolean
}

/** A send queue and its completion queue, with all that a program must not do as an assertion. */
class SendModel {
  /** Entries of the send queue; those before one whose completion is polled are free, too. */
  readonly #entries: Entry[] = []
  readonly #completions: { entry: Entry; status: WcStatus }[] = []
  /** What was posted, in order. */
  readonly log: { inline: boolean; bytes: number; sequence: number }[] = []
  failAfter: number = Number.POSITIVE_INFINITY
  readonly #pool: Pool
  readonly #out: InfinibandSettings['out']

  constructor(pool: Pool, out: InfinibandSettings['out']) {
    this.#pool = pool
    this.#out = out
  }

  get used(): number {
    return this.#entries.length
  }

  /** Requests that are still to be executed. */
  get waiting(): number {
    return this.#entries.filter(({ executed }) => !executed).length
  }

  postSend(wr: SendWorkRequest | SendWrInit): void {
    const { samples } = this.#pool
    for (let each = wr as SendWorkRequest | null; each !== null; each = each.next) {
      if (this.failAfter-- <= 0) {
        const error = new VerbsError('EINVAL', 'postSend', 'the model says no')
        error.badWr = each
        throw error
      }
      const { sendFlags, sgList, wrId } = each
      expect([SendFlag.Inline, SendFlag.Signaled]).toContain(sendFlags)
      const sample = sampleAt(this.#pool, sgList[0]!.addr)
      const word = samples.word(sample)
      const bytes = samples.u32[word]! * 8
      expect(sgList.map(({ length }) => length)).toEqual([8, 16, bytes])
      expect(sgList.map(({ addr }) => addr - word * 4)).toEqual([32, 40, 56])
      const inline = sendFlags === SendFlag.Inline
      const sequence = samples.int64(word + SampleField.sequence)
      this.#entries.push({ wrId, sample, sequence, inline, executed: false })
      this.log.push({ inline, bytes, sequence })
      expect(this.#entries.length).toBeLessThanOrEqual(this.#out.maxWrs)
    }
  }

  /** Executes requests: the payload of what is not inline is read only now. */
  execute(count: number, status: WcStatus = WcStatus.Success): void {
    const waiting = this.#entries.filter(({ executed }) => !executed)
    for (const entry of waiting.slice(0, count)) {
      entry.executed = true
      const word = this.#pool.samples.word(entry.sample)
      if (!entry.inline) expect(this.#pool.samples.int64(word + SampleField.sequence)).toBe(entry.sequence)
      if (!entry.inline || status !== WcStatus.Success) this.#completions.push({ entry, status })
      if (status === WcStatus.Success) expect(this.#completions.length).toBeLessThanOrEqual(this.#out.cqSize)
    }
  }

  poll(wc: WorkCompletion[], max: number = wc.length): number {
    const taken = this.#completions.splice(0, max)
    for (const [i, { entry, status }] of taken.entries()) {
      Object.assign(wc[i]!, { wrId: entry.wrId, status })
      this.#entries.splice(0, this.#entries.indexOf(entry) + 1)
    }
    return taken.length
  }
}

const outSettings = fc
  .record({
    log: fc.integer({ min: 0, max: 6 }),
    cqSize: fc.integer({ min: 1, max: 64 }),
    sendInline: fc.boolean(),
    maxInlineData: fc.integer({ min: 0, max: 200 }),
    periodic: fc.double({ min: 0, max: 1, noNaN: true }),
    vectorize: fc.integer({ min: 1, max: 8 }),
  })
  .map(({ log, cqSize, sendInline, maxInlineData, periodic, vectorize }): InfinibandSettings['out'] => ({
    address: null,
    vectorize: Math.min(vectorize, 2 ** log),
    resolutionTimeoutMs: 1000,
    maxWrs: 2 ** log,
    cqSize,
    sendInline,
    maxInlineData,
    useFallback: true,
    periodicSignaling: Math.max(1, Math.round(periodic * 2 ** log)),
  }))

const sendSteps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ write: fc.array(fc.integer({ min: 0, max: room }), { minLength: 1, maxLength: 8 }) }),
    },
    { weight: 4, arbitrary: fc.record({ execute: fc.integer({ min: 1, max: 40 }) }) },
    { weight: 1, arbitrary: fc.constant({ flush: true }) },
  ),
  { maxLength: 60 },
)

it('sends', () => {
  const property = fc.property(outSettings, sendSteps, fc.nat(60), fc.boolean(), (out, steps, failAfter, fails) => {
    const { pool, memory } = makePool()
    const model = new SendModel(pool, out)
    if (fails) model.failAfter = failAfter
    const counters = newCounters()
    const send = new SendSide(memory, { out, mode: 'RC' }, model, model, counters)
    const expected: typeof model.log = []
    let [next, counter] = [0, 0]
    for (const step of steps) {
      if ('execute' in step) model.execute(step.execute)
      if ('flush' in step) send.reap()
      if (!('write' in step)) continue
      const lengths = step.write.slice(0, out.vectorize)
      const list = take(pool, lengths.length)
      const written = [...list]
      for (const [i, length] of lengths.entries()) {
        const word = pool.samples.word(list[i]!)
        pool.samples.u32[word] = length
        pool.samples.setInt64(word + SampleField.sequence, next + i)
      }
      const idle = model.waiting === 0
      const sent = send.write(list, lengths.length)
      expect(send.released).toBeLessThanOrEqual(lengths.length)
      // The rule, for those that were posted.
      for (const [i, length] of lengths.slice(0, sent).entries()) {
        const small = length * 8 + 24 < out.maxInlineData
        if (small) counter = (counter + 1) % out.periodicSignaling
        expected.push({ inline: small && counter !== 0 && out.sendInline, bytes: length * 8, sequence: next + i })
      }
      // Inline samples and those that were not taken come first, in their order.
      const at = expected.length - sent
      const free = written.filter((_, i) => i >= sent || expected[at + i]!.inline)
      expect([...list.subarray(0, free.length)]).toEqual(free)
      pool.release(list, 0, send.released)
      next += lengths.length
      expect(send.used).toBe(model.used)
      if (send.failure !== undefined) break
      // Where all has been executed there is room: a queue that is full of unsignaled requests would never be free again.
      if (idle) expect(sent).toBeGreaterThan(0)
    }
    expect(model.log).toEqual(expected)
    expect(counters.sent).toBe(expected.length)
    expect(counters.sent + counters.send_queue_full + counters.send_failed).toBe(next)
    expect(counters.inline + counters.signaled).toBe(counters.sent)
    // The connection ends: some requests are executed, the others are flushed, and not all of that is polled.
    model.execute(steps.length % 5)
    model.execute(1000, WcStatus.WrFlushErr)
    if (fails) send.reap()
    send.releaseAll()
    expect(pool.available).toBe(capacity)
  })
  holds(property, 300)
})

/** A receive queue and its completion queue. */
class ReceiveModel {
  readonly posted: { wrId: number; sample: number }[] = []
  readonly #completions: { wrId: number; byteLen: number; status: WcStatus }[] = []
  readonly #pool: Pool
  readonly #maxWrs: number
  readonly #cqSize: number

  constructor(pool: Pool, { maxWrs, cqSize }: InfinibandSettings['in']) {
    this.#pool = pool
    this.#maxWrs = maxWrs
    this.#cqSize = cqSize
  }

  get filled(): boolean {
    return this.#completions.length > 0
  }

  postRecv(wr: RecvWorkRequest | RecvWrInit): void {
    for (let each = wr as RecvWorkRequest | null; each !== null; each = each.next) {
      const sample = sampleAt(this.#pool, each.sgList[0]!.addr)
      expect(each.sgList.map(({ length }) => length)).toEqual([8, 16, room * 8])
      // Neither posted already nor a message that has arrived and was not returned yet.
      expect([...this.posted, ...this.#completions].map(({ wrId }) => wrId)).not.toContain(sample)
      this.posted.push({ wrId: each.wrId, sample })
      expect(this.posted.length + this.#completions.length).toBeLessThanOrEqual(this.#maxWrs)
    }
  }

  /** A message comes. False if the peer has to wait. */
  arrive(sequence: number, bytes: number): boolean {
    if (this.#completions.length >= this.#cqSize) return false
    const first = this.posted.shift()
    if (first === undefined) return false
    const word = this.#pool.samples.word(first.sample)
    this.#pool.samples.setInt64(word + SampleField.sequence, sequence)
    this.#completions.push({ wrId: first.wrId, byteLen: bytes, status: WcStatus.Success })
    return true
  }

  fail(): void {
    for (const [i, { wrId }] of this.posted.splice(0).entries())
      this.#completions.push({ wrId, byteLen: 0, status: i === 0 ? WcStatus.LocLenErr : WcStatus.WrFlushErr })
  }

  poll(wc: WorkCompletion[], max: number = wc.length): number {
    const taken = this.#completions.splice(0, max)
    for (const [i, completion] of taken.entries()) Object.assign(wc[i]!, completion)
    return taken.length
  }
}

const inSettings = fc
  .record({ log: fc.integer({ min: 3, max: 6 }), vectorize: fc.integer({ min: 1, max: 2 }), more: fc.nat(64) })
  .map(({ log, vectorize, more }): InfinibandSettings['in'] => {
    const maxWrs = 2 ** log
    const bufferSubtraction = Math.min(2 * vectorize + more, maxWrs - vectorize - 1)
    const cqSize = maxWrs - bufferSubtraction + (more % 3)
    return { address: { address: '10.0.0.1', port: 1 }, vectorize, maxWrs, cqSize, bufferSubtraction }
  })

const receiveSteps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ arrive: fc.array(fc.integer({ min: 0, max: 24 + room * 8 }), { maxLength: 6 }) }),
    },
    { weight: 6, arbitrary: fc.record({ read: fc.integer({ min: 1, max: 2 }) }) },
  ),
  { maxLength: 200 },
)

it('receives', () => {
  const property = fc.property(inSettings, receiveSteps, fc.boolean(), (inside, steps, fails) => {
    const { pool, memory } = makePool()
    const model = new ReceiveModel(pool, inside)
    const counters = newCounters()
    const stamp = (word: number): void => pool.samples.setInt64(word, 77)
    const receive = new ReceiveSide(memory, { in: inside }, model, model, { stamp }, counters)
    const threshold = inside.maxWrs - inside.bufferSubtraction
    const [sent, got]: [number[], number[]] = [[], []]
    let sequence = 0
    const read = (count: number): void => {
      const list = take(pool, count)
      const before = [...list]
      const fills = receive.posted < threshold
      const n = receive.read(list, count, true)
      expect(receive.released).toBe(fills ? 0 : count)
      if (fills) expect(n).toBe(0)
      for (const index of list.subarray(0, n)) {
        const word = pool.samples.word(index)
        expect(before).not.toContain(index)
        expect(pool.samples.int64(word + SampleField.received)).toBe(77)
        got.push(pool.samples.int64(word + SampleField.sequence))
      }
      pool.release(list, 0, receive.released)
    }
    for (const step of steps) {
      if ('read' in step) read(Math.min(step.read, inside.vectorize))
      else
        for (const bytes of step.arrive) {
          if (!model.arrive(sequence, bytes)) break
          if (bytes >= 24 && bytes % 8 === 0) sent.push(sequence)
          sequence++
        }
    }
    if (fails) model.fail()
    if (fails) for (let i = 0; model.filled; i++) read(1 + (i % inside.vectorize))
    const arrived: number[] = []
    receive.collect(arrived)
    for (const index of arrived) got.push(pool.samples.int64(pool.samples.word(index) + SampleField.sequence))
    expect(got).toEqual(sent)
    expect(counters.received).toBe(sent.length)
    expect(counters.received + counters.malformed).toBe(sequence)
    receive.releaseAll()
    for (const index of arrived) pool.drop(index)
    expect(pool.available).toBe(capacity)
  })
  holds(property, 300)
})
