/** What calls refuse, what ranks that disagree are told, and what becomes of those whose peer is gone. */
import { EventEmitter, once } from 'node:events'
import { describe, expect, it, vi } from 'vitest'
import { History } from '../../src/collectives/history.ts'
import {
  type CollectiveError,
  type Communicator,
  createCommunicator,
  type DecisionTable,
  type Ranks,
} from '../../src/collectives/index.ts'
import { agree } from '../../src/collectives/same-calls.ts'
import { openDevice } from '../../src/index.ts'
import { multicastTable } from './multicast.ts'
import { ranksHere, together } from './together.ts'

const device = 'shm0'

describe('arguments', () => {
  it.each<[string, (comm: Communicator) => unknown]>([
    ['root must be a rank from 0 to 0, not 1', (c) => c.broadcast(new Uint8Array(1), 1)],
    ['broadcast: output must be a typed array', (c) => c.broadcast(null as unknown as Uint8Array)],
    ['gather: input must be a typed array', (c) => c.gather(new DataView(new ArrayBuffer(4)) as never, null)],
    ['output has 8 bytes where 4 belong', (c) => c.allgather(new Int32Array(1), new Int32Array(2))],
    ['input has 8 bytes where 4 belong', (c) => c.scatter(new Int32Array(2), new Int32Array(1))],
    [
      'arrays must be Int32Array, Float32Array or',
      (c) => c.allreduce(new Uint8Array(1) as never, new Uint8Array(1) as never, 'sum'),
    ],
    [
      'input and output must be of one type',
      (c) => c.allreduce(new Int32Array(2), new Float32Array(2) as never, 'sum'),
    ],
    [
      'must be one of sum, min, max, not "product"',
      (c) => c.allreduce(new Int32Array(1), new Int32Array(1), 'product' as never),
    ],
    ['none that alloc of this communicator returned', (c) => c.free(new Int32Array(1))],
    ['alloc: length must be a number of elements, not -1', (c) => c.alloc(Int32Array, -1)],
  ])('%s', async (message, call) => {
    await together(1, { device }, async (comm) => {
      expect(() => call(comm)).toThrow(message)
      // Nothing has happened.
      const one = new Int32Array(1)
      comm.allreduce(Int32Array.of(7), one, 'max')
      expect(one[0]).toBe(7)
    })
  })

  it('parts that cannot be shared, and arrays that overlap', async () => {
    await together(2, { device }, async (comm) => {
      const all = comm.alloc(Int32Array, 8)
      expect(() => comm.alltoall(all.subarray(0, 3), all.subarray(4, 7))).toThrow(
        'input has 3 elements, which 2 ranks cannot share',
      )
      expect(() => comm.alltoall(all.subarray(0, 4), all.subarray(2, 6))).toThrow('input and output overlap')
      expect(() => comm.allreduce(all.subarray(0, 4), all.subarray(2, 6), 'sum')).toThrow('input and output overlap')
      // Those that are copied, too: what is right with some arrays and wrong with others is wrong.
      const own = new Int32Array(8)
      expect(() => comm.allreduce(own.subarray(0, 4), own.subarray(2, 6), 'sum')).toThrow('input and output overlap')
      expect(() => comm.alltoall(own, own)).toThrow('input and output overlap')
      expect(() => comm.allgather(own.subarray(6, 7), own.subarray(6))).toThrow('input and output overlap')
      await comm.allreduceAsync(own, own, 'sum')
      await comm.alltoallAsync(own.subarray(0, 4), own.subarray(4, 8))
      await comm.barrierAsync()
    })
  })

  it('the algorithm of what is no collective, and of no number of bytes', async () => {
    await together(1, { device }, async (comm) => {
      expect(() => comm.algorithmFor('nosuch' as never, 8)).toThrow(
        expect.objectContaining({
          code: 'EINVAL',
          message: expect.stringMatching(/^there is no collective "nosuch": barrier, /),
        }),
      )
      expect(() => comm.algorithmFor('toString' as never, 8)).toThrow('there is no collective "toString"')
      expect(() => comm.algorithmFor('allreduce', Number.NaN)).toThrow('bytes must be 0 or more, not NaN')
    })
  })

  it('a table of rules that there are not', async () => {
    const [ranks] = ranksHere(1)
    const rule = { collective: 'allreduce', algorithm: 'magic' } as const
    await expect(createCommunicator(ranks!, { device, table: { version: 1, rules: [rule] } })).rejects.toThrow(
      'rule 1: allreduce has recursive-doubling, ring, halving-doubling, tree, not "magic"',
    )
  })

  it('a call without the array of the call before', async () => {
    await together(1, { device }, async (comm) => {
      comm.broadcast(new Int32Array(1))
      expect(() => comm.broadcast(undefined as never)).toThrow('broadcast: output must be a typed array')
      comm.barrier()
    })
  })

  it('both forms in turn, one after the other', async () => {
    await together(1, { device }, async (comm) => {
      await comm.barrierAsync()
      comm.barrier()
      await expect(comm.broadcastAsync(new Uint8Array(1), 7)).rejects.toMatchObject({ code: 'EINVAL' })
      comm.barrier()
    })
  })

  it('memory that a call may use is not freed', async () => {
    await together(2, { device }, async (comm) => {
      const array = comm.alloc(Int32Array, 4)
      const under = comm.broadcastAsync(array)
      expect(() => comm.free(array)).toThrow('free: a call is under way')
      await under
      comm.free(array)
    })
  })

  it('memory is freed once, by the array that alloc returned', async () => {
    await together(1, { device }, async (comm) => {
      const first = comm.alloc(Int32Array, 4)
      comm.free(first)
      const second = comm.alloc(Int32Array, 4).fill(7)
      expect(second.byteOffset).toBe(first.byteOffset)
      expect(() => comm.free(first)).toThrow('freed already')
      expect(() => comm.free(second.subarray(0))).toThrow('none that alloc of this communicator returned')
      // Another allocation would get zeros at the same place.
      expect(comm.alloc(Int32Array, 4).byteOffset).not.toBe(second.byteOffset)
      expect(second[0]).toBe(7)
    })
  })

  it('a table that another rank does not have', async () => {
    const rule = { collective: 'reduce', algorithm: 'linear' } as const
    const made = ranksHere(2).map((ranks) =>
      createCommunicator(ranks, { device, ...(ranks.rank === 0 && { table: { version: 1, rules: [rule] } }) }),
    )
    await expect(made[0]).rejects.toThrow('rank 1 has other rules that choose algorithms (table)')
    await expect(made[1]).rejects.toMatchObject({ code: 'EMISMATCH', rank: 0 })
  })

  it('a blocking call while another is under way, and any call after the end', async () => {
    const comms: Communicator[] = []
    await together(2, { device }, async (comm) => {
      comms.push(comm)
      const under = comm.barrierAsync()
      expect(() => comm.barrier()).toThrow('barrier: a call is under way: await it, or call barrierAsync')
      await under
    })
    expect(() => comms[0]!.barrier()).toThrow('the communicator is closed')
    await expect(comms[1]!.barrierAsync()).rejects.toMatchObject({ code: 'ECLOSED' })
  })
})

/** What each of the ranks is told. */
async function outcomes(size: number, work: (comm: Communicator) => Promise<unknown>): Promise<CollectiveError[]> {
  const errors: CollectiveError[] = []
  await together(size, { device, timeoutMs: 1000 }, async (comm) => {
    await work(comm).catch((error: CollectiveError) => errors.push(error))
  })
  return errors
}

describe('ranks that disagree', () => {
  it.each<[string, (comm: Communicator) => Promise<unknown>]>([
    [
      'is in barrier as call 1 where this rank is in allreduce (sum of Int32) as call 1',
      (c) => (c.rank === 0 ? c.barrierAsync() : c.allreduceAsync(new Int32Array(1), new Int32Array(1), 'sum')),
    ],
    [
      'is in allreduce (max of Int32) as call 1 where this rank is in allreduce (sum of Int32) as call 1',
      (c) => c.allreduceAsync(new Int32Array(1), new Int32Array(1), c.rank === 0 ? 'max' : 'sum'),
    ],
    [
      'has 8 bytes where this rank has 4: counts or types differ',
      (c) => c.allreduceAsync(new Int32Array(2 - c.rank), new Int32Array(2 - c.rank), 'sum'),
    ],
    [
      'counts or types differ',
      (c) =>
        c.allreduceAsync(
          new Int32Array(c.rank === 0 ? 50_000 : 60_000),
          new Int32Array(c.rank === 0 ? 50_000 : 60_000),
          'sum',
        ),
    ],
    [
      'rank 0 has 10000 bytes where this rank has 10: counts or types differ',
      (c) => c.broadcastAsync(new Uint8Array(c.rank === 0 ? 10_000 : 10)),
    ],
    [
      'rank 0 has 0 bytes where this rank has 4: counts or types differ',
      (c) => c.broadcastAsync(new Int32Array(c.rank)),
    ],
    [
      'rank 0 has 4 bytes where this rank has 0: counts or types differ',
      (c) => c.broadcastAsync(c.rank === 0 ? c.alloc(Int32Array, 1) : new Int32Array(0)),
    ],
    [
      'takes another algorithm: counts or types differ',
      (c) => c.allreduceAsync(new Int32Array(2048 + c.rank), new Int32Array(2048 + c.rank), 'sum'),
    ],
  ])('%s', async (message, work) => {
    const errors = await outcomes(2, work)
    expect(errors.map(({ code }) => code)).toContain('EMISMATCH')
    expect(errors.map(({ message }) => message).join('\n')).toContain(message)
  })

  /** What each of four ranks ends with that make this call, and another one after it if `more`, without a limit of time. */
  async function endings(
    make: (comm: Communicator) => Promise<unknown>,
    table?: DecisionTable,
  ): Promise<CollectiveError[]> {
    const errors: CollectiveError[] = []
    await together(4, { device, ...(table && { table }) }, async (comm) => {
      try {
        await make(comm)
        await comm.end()
      } catch (error) {
        errors[comm.rank] = error as CollectiveError
      }
    })
    return errors
  }

  const bytes = (count: number): Uint8Array => new Uint8Array(count)
  const numbers = (): Int32Array => new Int32Array(1)
  it.concurrent.each<[string, (comm: Communicator, root: number) => Promise<unknown>, DecisionTable?]>([
    ['broadcast', (c, root) => c.broadcastAsync(bytes(1), root)],
    ['broadcast', (c, root) => c.broadcastAsync(bytes(50_000), root)],
    ['broadcast', (c, root) => c.broadcastAsync(bytes(1), root), multicastTable],
    ['scatter', (c, root) => c.scatterAsync(bytes(4), bytes(1), root)],
    ['gather', (c, root) => c.gatherAsync(bytes(1), bytes(4), root)],
    ['gather', (c, root) => c.gatherAsync(bytes(50_000), bytes(200_000), root)],
    ['reduce', (c, root) => c.reduceAsync(numbers(), numbers(), 'sum', root)],
  ])('a root of its own of one rank, in %s, ends all, with the name of both', async (name, make, table) => {
    const errors = await endings((comm) => make(comm, comm.rank === 1 ? 1 : 0), table)
    // Those that hear only that a rank is gone hear it from one that knows why.
    expect(errors.map(({ code }) => code)).toEqual(Array(4).fill(expect.stringMatching(/^(EMISMATCH|EPEER)$/)))
    const about = new RegExp(
      `${name}.* with root (\\d) as call 1 where this rank [wi]a?s in ${name}.* with root (\\d) as call 1$`,
    )
    const told = errors.map(({ message }) => about.exec(message)?.slice(1).join())
    expect(told[1]).toBe('0,1')
    expect([told[0], told[2], told[3]]).toContain('1,0')
  })

  it('one that makes fewer calls than the others is told so at the end', async () => {
    const errors = await endings(async (comm) => {
      for (let i = 0; i < (comm.rank === 1 ? 1 : 2); i++) await comm.broadcastAsync(bytes(1), 1)
      if (comm.rank === 1) await comm.broadcastAsync(bytes(1), 1)
    })
    expect(errors).toEqual([])
    const fewer = await endings(async (comm) => {
      for (let i = 0; i < (comm.rank === 3 ? 1 : 2); i++) await comm.gatherAsync(bytes(1), bytes(4), 3)
    })
    expect(fewer[0]!.message).toBe('rank 3 was in end after 1 call where this rank was in gather with root 3 as call 2')
    expect(fewer[3]!.message).toBe('rank 0 was in gather with root 3 as call 2 where this rank was in end after 1 call')
  })

  it('calls that are too long ago to be known one by one differ all the same', async () => {
    for (const differs of ['tag', 'root', 'bytes', null]) {
      const all = ranksHere(3).map((ranks) => {
        const history = new History()
        const other = ranks.rank === 1
        for (let i = 1; i <= 400; i++) {
          const odd = other && i === 7
          history.add(
            (odd && differs === 'tag' ? 256 : 128) + (i % 128),
            odd && differs === 'root' ? 128 : 0,
            odd && differs === 'bytes' ? 1 : 0,
          )
        }
        return agree(ranks, history, String)
      })
      const found = await Promise.allSettled(all)
      const message = 'rank 1 has made 400 calls and this rank 400: their counts, types or roots differ'
      if (differs === null) expect(found.every(({ status }) => status === 'fulfilled')).toBe(true)
      else expect(found[2]).toMatchObject({ status: 'rejected', reason: { code: 'EMISMATCH', rank: 1, message } })
    }
  })

  it('one that does not come: the others name it when the time is over', async () => {
    const errors = await outcomes(3, (c) => (c.rank === 2 ? Promise.resolve() : c.broadcastAsync(new Uint8Array(1), 2)))
    expect(errors.map(({ code }) => code)).toEqual(['ETIMEDOUT', 'ETIMEDOUT'])
    expect(errors[0]!.message).toMatch(/^broadcast with root 2 as call 1: nothing came from rank 2 for \d+\.\d s$/)
  })
  it('who comes when the time of another is over learns that, and gets nothing of what is in its memory by then', async () => {
    const outcomes: unknown[] = []
    const meeting = new EventEmitter()
    await together(
      2,
      (rank) => ({ device: 'shm0', timeoutMs: rank === 0 ? 500 : 0 }),
      async (comm) => {
        const bytes = comm.alloc(Uint8Array, 65_536)
        if (comm.rank === 0) {
          bytes.fill(7)
          outcomes.push(await comm.broadcastAsync(bytes).catch(({ code }: CollectiveError) => code))
          bytes.fill(1)
          meeting.emit('over')
        } else {
          await once(meeting, 'over')
          outcomes.push(await comm.broadcastAsync(bytes).catch(({ code }: CollectiveError) => code))
        }
      },
    )
    expect(outcomes).toEqual(['ETIMEDOUT', 'EPEER'])
  })
  it('on a network, where the question whether it lives is answered later', async () => {
    const contexts = [1, 2].map((n) => openDevice(`roce:127.93.8.${n}`))
    const errors: CollectiveError[] = []
    await together(
      2,
      (rank) => ({ context: contexts[rank]!, timeoutMs: 1000 }),
      async (comm) => {
        if (comm.rank === 0)
          await comm.broadcastAsync(new Uint8Array(1), 1).catch((e: CollectiveError) => errors.push(e))
      },
    )
    expect(errors).toMatchObject([{ code: 'ETIMEDOUT' }])
    for (const context of contexts) context.close()
  })
})

it.each(['allocPd', 'createCompChannel', 'createCq', 'alloc'] as const)(
  'what was opened is closed when %s fails',
  async (verb) => {
    const context = openDevice('shm0')
    const table = { version: 1, rules: [{ collective: 'broadcast', algorithm: 'multicast' }] } as const
    const allgather = (): Promise<never> => Promise.reject(new Error('nobody is there'))
    const original = context[verb].bind(context) as (...args: unknown[]) => never
    let left = 0
    vi.spyOn(context, verb as 'alloc').mockImplementation((...args) => {
      if (--left === 0) throw new Error('no more')
      return original(...args)
    })
    const outcomes: string[] = []
    for (let call = 1; outcomes.at(-1) !== 'nobody is there'; call++) {
      left = call
      const made = createCommunicator({ ...ranksHere(2)[0]!, allgather }, { context, table })
      await made.catch(({ message }: Error) => outcomes.push(message))
    }
    expect(outcomes[0]).toBe('no more')
    context.close()
  },
)

it('ranks end when the last one comes, however long that takes', async () => {
  const [ranks] = ranksHere(1)
  const limits: unknown[] = []
  const barrier = (limit?: { timeoutMs?: number }) => {
    limits.push(limit)
    return ranks!.barrier(limit)
  }
  const comm = await createCommunicator({ ...ranks!, barrier }, { device })
  await comm.end()
  expect(limits.at(-1)).toEqual({ timeoutMs: 0 })
})

describe('a rank that is gone', () => {
  it('an event that comes with the end is acknowledged: closing does not wait for it', async () => {
    const controller = new AbortController()
    const [first, ...others] = ranksHere(3)
    const comms = await Promise.all(
      [{ ...first!, signal: controller.signal }, ...others].map((ranks) => createCommunicator(ranks, { device })),
    )
    const waiting = comms[0]!.barrierAsync()
    await new Promise((resolve) => setTimeout(resolve, 20))
    const other = comms[2]!.barrierAsync().catch(() => undefined)
    controller.abort(new Error('rank 1 was killed'))
    await expect(waiting).rejects.toThrow('rank 1 was killed')
    for (const comm of comms) comm.close()
    await other
  })

  it('closing does not wait for an event that a call is about to acknowledge', async () => {
    for (const promises of [2, 3, 4]) {
      const controller = new AbortController()
      const comms = await Promise.all(
        ranksHere(2, controller.signal).map((ranks) => createCommunicator(ranks, { device })),
      )
      const waiting = expect(comms[0]!.barrierAsync()).rejects.toThrow('rank 1 was killed')
      await new Promise((resolve) => setTimeout(resolve, 10))
      controller.abort(new Error('rank 1 was killed'))
      for (let i = 0; i < promises; i++) await null
      for (const comm of comms) comm.close()
      await waiting
    }
  })

  // What a listener of the signal throws ends the process.
  it.each([0, 1])('while a communicator is made, after %d exchanges: the others are told why', async (exchanges) => {
    const controller = new AbortController()
    const reason = new Error('rank 1 is gone')
    const [first, second] = ranksHere(2, controller.signal)
    let left = exchanges
    const dying: Ranks = {
      ...second!,
      allgather: (bytes) => (left-- > 0 ? second!.allgather(bytes) : new Promise(() => {})),
    }
    const made = [first!, dying].map((ranks) => createCommunicator(ranks, { device }))
    await new Promise((resolve) => setImmediate(resolve))
    controller.abort(reason)
    for (const one of made) await expect(one).rejects.toBe(reason)
  })

  it('before a communicator is made', async () => {
    const [ranks] = ranksHere(2, AbortSignal.abort(new Error('rank 1 was killed')))
    await expect(createCommunicator(ranks!, { device })).rejects.toThrow('rank 1 was killed')
  })

  it('its communicator is closed: a peer that waits for it finds out', async () => {
    const comms = await Promise.all(ranksHere(2).map((ranks) => createCommunicator(ranks, { device })))
    const waiting = comms[0]!.broadcastAsync(new Uint8Array(1), 1)
    comms[1]!.close()
    await expect(waiting).rejects.toMatchObject({ code: 'EPEER', rank: 1 })
    await expect(comms[0]!.barrierAsync()).rejects.toMatchObject({ code: 'EPEER' })
    comms[0]!.close()
  })

  it('the group says so: calls under way end, with its reason', async () => {
    const controller = new AbortController()
    const comms = await Promise.all(
      ranksHere(2, controller.signal).map((ranks) => createCommunicator(ranks, { device })),
    )
    const waiting = comms[0]!.barrierAsync()
    controller.abort(new Error('rank 1 was killed'))
    await expect(waiting).rejects.toMatchObject({ code: 'EPEER', message: 'rank 1 was killed' })
    for (const comm of comms) comm.close()
  })
})

it('calls go on when their number in a tag begins anew', async () => {
  await together(2, { device }, async (comm) => {
    for (let call = 0; call < 300; call++) {
      const sum = new Int32Array(1)
      if (call % 3 === 0) await comm.barrierAsync()
      await comm.allreduceAsync(Int32Array.of(call + comm.rank), sum, 'sum')
      expect(sum[0]).toBe(2 * call + 1)
      const root = call % 2
      const given = Int32Array.of(comm.rank === root ? call : -1)
      await comm.broadcastAsync(given, root)
      expect(given[0]).toBe(call)
    }
  })
})
