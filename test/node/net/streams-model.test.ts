/**
 * Random programs for the two ends of a connection, against the simplest model of a byte stream: what one end wrote, the
 * other reads, whatever sizes, pauses, corks and ends there were.
 */

import type { Socket } from 'node:net'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Bench, describeNet, event, turns } from '../implementations.ts'

type Step =
  | { do: 'write'; length: number }
  | { do: 'pause' | 'resume' | 'cork' | 'uncork' | 'end' | 'turn' | 'unref' | 'ref' }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('write' as const), length: fc.nat(200_000) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('write' as const), length: fc.nat(100) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom('pause' as const, 'resume' as const, 'cork' as const, 'uncork' as const),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('turn' as const, 'unref' as const, 'ref' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('end' as const) }) },
)
const program = fc.array(fc.tuple(fc.constantFrom('client' as const, 'peer' as const), step), { maxLength: 40 })

class End {
  readonly socket: Socket
  readonly wrote: Buffer[] = []
  readonly read: Buffer[] = []
  readonly done: Promise<unknown>
  #next: number
  #ended = false

  constructor(socket: Socket, bench: Bench, seed: number) {
    this.socket = socket
    this.#next = seed
    socket.on('data', (data: Buffer) => this.read.push(data))
    this.done = Promise.all([bench.closed(socket), event(socket, 'end'), event(socket, 'finish')])
  }

  async carryOut(step: Step): Promise<void> {
    const { socket } = this
    if (step.do === 'turn') await turns(3)
    else if (step.do === 'write') this.#write(step.length)
    else if (step.do === 'end') this.end()
    else if (!this.#ended || step.do === 'pause' || step.do === 'resume') socket[step.do]()
  }

  #write(length: number): void {
    if (this.#ended) return
    const data = Buffer.allocUnsafe(length)
    for (let i = 0; i < length; i++) data[i] = this.#next++
    this.wrote.push(data)
    this.socket.write(data)
  }

  end(): void {
    if (!this.#ended) this.socket.end()
    this.#ended = true
  }
}

const seed = process.env.VERBENA_SEED === undefined ? Date.now() & 0x7fffffff : Number(process.env.VERBENA_SEED)

describeNet('random programs', (bench) => {
  it('read what was written', async () => {
    const property = fc.asyncProperty(program, async (steps) => {
      const { client, peer, server } = await bench.pair({ allowHalfOpen: true }, { allowHalfOpen: true })
      const ends = { client: new End(client, bench, 0), peer: new End(peer, bench, 77) }
      for (const [who, what] of steps) await ends[who].carryOut(what)
      for (const end of Object.values(ends)) {
        end.end()
        end.socket.ref()
        end.socket.resume()
      }
      await Promise.all([ends.client.done, ends.peer.done])
      for (const [from, to] of [
        [ends.client, ends.peer],
        [ends.peer, ends.client],
      ] as const) {
        const sent = Buffer.concat(from.wrote)
        expect(Buffer.concat(to.read).equals(sent)).toBe(true)
        expect([from.socket.bytesWritten, to.socket.bytesRead]).toEqual([sent.length, sent.length])
      }
      server.close()
    })
    const details = await fc.check(property, { seed, numRuns: 40 })
    if (details.failed)
      throw new Error(
        `${JSON.stringify(details.counterexample)}: ${details.errorInstance} ${(details.errorInstance as Error).cause ?? ''}\nrepeat it with: VERBENA_SEED=${seed} npx vitest run test/node/net/streams-model.test.ts`,
      )
  })
})
