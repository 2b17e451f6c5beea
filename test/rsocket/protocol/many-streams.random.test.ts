/**
 * Streams that share memory and completion queues come and go, some in the middle of a message, while others carry data: each gets its own
 * bytes, whole and in order, and no queue overruns.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openDevice } from '../../../src/index.ts'
import { sweepNow } from '../../../src/verbs/provider/reclaim.ts'
import { holds, seeds } from '../../property.ts'
import { seededBelow } from '../../random.ts'
import { connectEnds, type End, makeEnd, makeShared } from './pair.ts'

const most = 12
const longest = 4000
/** Sizes of different chunks. */
const sizes = [{}, { sendBufferBytes: 1 << 13, receiveBufferBytes: 1 << 13, receiveBufferTimes: 1 }, { iomapSize: 4 }]

interface Live {
  from: End
  to: End
  /** The byte at a position of the stream is a function of both. */
  salt: number
  sent: number
  got: number
}

const byteAt = (salt: number, at: number): number => (salt * 97 + at * 31 + (at >> 8)) & 0xff

test('each of many streams that come and go gets its own bytes', async () => {
  const context = openDevice('shm0')
  await holds(
    fc.asyncProperty(seeds, async (seed) => {
      const below = seededBelow(seed)
      const threads = [makeShared(context), makeShared(context)]
      const before = context.counters()
      const live: Live[] = []
      const end = (one: Live): void => {
        one.from.close()
        one.to.close()
      }
      try {
        let salt = 0
        for (let step = 0; step < 150; step++) {
          const what = below(10)
          if (live.length < 2 || (what === 0 && live.length < most)) {
            const size = sizes[below(sizes.length)]!
            const [from, to] = threads.map((shared) => makeEnd(context, size, shared)) as [End, End]
            connectEnds(from, to)
            live.push({ from, to, salt: ++salt, sent: 0, got: 0 })
            continue
          }
          const at = below(live.length)
          const one = live[at]!
          if (what === 1) {
            end(one)
            live.splice(at, 1)
            // What is closed is reclaimed by the event loop, or not yet.
            if (below(2) === 0) await new Promise((resolve) => setTimeout(resolve, 11))
          } else if (what < 6) {
            const bytes = Uint8Array.from({ length: 1 + below(longest) }, (_, i) => byteAt(one.salt, one.sent + i))
            one.from.connection.process()
            one.sent += one.from.connection.send(bytes, 0, bytes.length)
          } else {
            const into = new Uint8Array(1 + below(longest))
            one.to.connection.process()
            const n = one.to.connection.recv(into, 0, into.length)
            for (let i = 0; i < n; i++)
              if (into[i] !== byteAt(one.salt, one.got + i)) expect.fail(`stream ${one.salt}, byte ${one.got + i}`)
            one.got += n
          }
          expect(one.from.connection.error || one.to.connection.error).toBe(0)
        }
        for (const one of live) {
          one.to.connection.process()
          expect(one.got + one.to.connection.readableBytes).toBe(one.sent)
        }
        // A neighbour costs nobody a receive, and no completion finds its queue full.
        const { cq_overruns, send_rnr_err } = context.counters()
        expect([cq_overruns, send_rnr_err]).toEqual([before.cq_overruns, before.send_rnr_err])
        for (const one of live.splice(0)) end(one)
        sweepNow(context.device.host)
        // All that was reserved is free again when the queue pairs are reclaimed.
        for (const { queues } of threads) {
          queues.trim()
          expect(queues.pairs.map(({ unused, filled }) => [unused, filled])).toEqual([[true, false]])
        }
      } finally {
        for (const one of live) end(one)
        for (const shared of threads) shared.close()
      }
    }),
    10,
  )
  context.close()
})
