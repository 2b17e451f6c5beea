/** Ranks in one process, over TCP on 127.0.0.1: they meet, exchange, and fail together with a name. */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { handshakeMs } from '../../../src/collectives/launch/handshake.ts'
import { type Group, type GroupError, type GroupOptions, joinGroup } from '../../../src/collectives/launch/index.ts'
import { Kind, Link } from '../../../src/collectives/launch/link.ts'
import { portsOf } from '../../../src/collectives/launch/place.ts'

const key = { VERBENA_KEY: 'a key of tests, long enough' }
const open: Group[] = []

afterEach(async () => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  await Promise.all(open.splice(0).map((group) => group.close()))
})

/** A port that nobody has. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function join(rank: number, size: number, port: number, options: GroupOptions = {}): Promise<Group> {
  const meet = `127.0.0.1:${port}`
  const group = await joinGroup({ rank, size, meet, environment: key, timeoutMs: 10_000, ...options })
  open.push(group)
  return group
}

/** A rank of two, which meet at one of the ports of a job. */
function joinJob(job: string, rank: number): Promise<Group> {
  const environment = { ...key, VERBENA_JOB: job, VERBENA_RANK: String(rank), VERBENA_SIZE: '2' }
  return joinGroup({ environment, timeoutMs: 0 })
}

async function groupOf(size: number): Promise<Group[]> {
  const port = await freePort()
  return await Promise.all(Array.from({ length: size }, (_, rank) => join(rank, size, port)))
}

/** What each of these ends with: its error, or null. */
async function errors(all: Promise<unknown>[]): Promise<(GroupError | null)[]> {
  const settled = await Promise.allSettled(all)
  return settled.map((one) => (one.status === 'rejected' ? (one.reason as GroupError) : null))
}

describe('a group', () => {
  it('exchanges bytes of any lengths in the order of ranks, and passes barriers', async () => {
    const groups = await groupOf(5)
    const given = groups.map(({ rank }) => Uint8Array.from({ length: rank * 1000 }, (_, i) => i + rank))
    const all = await Promise.all(groups.map((group, i) => group.allgather(given[i]!)))
    for (const got of all)
      expect(got.map((part) => Buffer.from(part).compare(given[got.indexOf(part)]!))).toEqual([0, 0, 0, 0, 0])
    await Promise.all(groups.map((group) => group.barrier()))
    expect(groups.map(({ rank, size, members }) => [rank, size, members[rank]!.pid])).toEqual(
      groups.map((_, i) => [i, 5, process.pid]),
    )
  })

  it('lets nobody past a barrier before all are there', async () => {
    const groups = await groupOf(3)
    const passed: number[] = []
    const early = groups.slice(1).map((group) => group.barrier().then(() => passed.push(group.rank)))
    // Their frames are at rank 0 when an exchange behind them would be: nothing but rank 0 is missing.
    await new Promise((resolve) => setImmediate(resolve))
    expect(passed).toEqual([])
    await groups[0]!.barrier()
    await Promise.all(early)
    expect(passed.sort()).toEqual([1, 2])
  })

  it('of one rank needs nobody', async () => {
    const group = await join(0, 1, 1)
    expect((await group.allgather(Uint8Array.of(7)))[0]).toEqual(Uint8Array.of(7))
    await group.barrier()
  })

  it('meets whoever comes first', async () => {
    const port = await freePort()
    const second = join(1, 2, port)
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect((await Promise.all([second, join(0, 2, port)])).map(({ rank }) => rank)).toEqual([1, 0])
  })
})

describe('limits of time', () => {
  it('a rank that was busy for long finds what has come meanwhile', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { send } = Link.prototype
    vi.spyOn(Link.prototype, 'send').mockImplementation(function (this: Link, kind, content) {
      send.call(this, kind, content)
      // The rank has not read it yet: it looks at its sockets after this turn of the event loop.
      if (kind === Kind.Welcome) setImmediate(() => vi.advanceTimersByTime(handshakeMs))
    })
    expect((await groupOf(2)).map(({ size }) => size)).toEqual([2, 2])
  })

  it('a rank that waits for ever does so at rank 0, too', async () => {
    const groups = await groupOf(2)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const early = groups[1]!.barrier({ timeoutMs: 0 })
    await turns()
    vi.advanceTimersByTime(3_600_000)
    await groups[0]!.barrier({ timeoutMs: 0 })
    await early
  })

  it('a limit that no timer takes is the longest of one, and what is no time is a usage error', async () => {
    const port = await freePort()
    const groups = await Promise.all([0, 1].map((rank) => join(rank, 2, port, { timeoutMs: Number.POSITIVE_INFINITY })))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const early = groups[1]!.barrier()
    await turns()
    vi.advanceTimersByTime(60_000)
    await groups[0]!.barrier({ timeoutMs: 2 ** 40 })
    await early
    for (const timeoutMs of [Number.NaN, -1])
      await expect(groups[1]!.barrier({ timeoutMs })).rejects.toThrow(
        `timeoutMs must be milliseconds, 0 or more, not ${timeoutMs}`,
      )
    // They have cost nothing.
    await Promise.all(groups.map((group) => group.barrier()))
  })

  it('an exchange that this rank leaves ends', async () => {
    const groups = await groupOf(2)
    const early = groups[1]!.barrier()
    await Promise.resolve()
    const closing = groups[1]!.close()
    expect(await errors([early])).toMatchObject([{ code: 'ERR_GROUP_CLOSED', rank: 1 }])
    await closing
  })
})

/** Turns of the event loop, in which frames between ranks of this thread arrive. */
async function turns(): Promise<void> {
  for (let i = 0; i < 100; i++) await new Promise((resolve) => setImmediate(resolve))
}

describe('who does not fit is named at all ranks', () => {
  it('a rank that is missing', async () => {
    const port = await freePort()
    const all = [0, 1, 4].map((rank) => join(rank, 6, port, { timeoutMs: 300 }))
    const [a, b, c] = await errors(all)
    expect(a).toMatchObject({ code: 'ERR_GROUP_MISSING', message: 'ranks 2, 3 and 5 of 6 did not come within 0.3 s' })
    expect([b!.message, c!.message]).toEqual([a!.message, a!.message])
  })

  it('rank 0 that is missing', async () => {
    const port = await freePort()
    const [error] = await errors([join(1, 2, port, { timeoutMs: 200 })])
    expect(error).toMatchObject({ code: 'ERR_GROUP_MISSING', rank: 0 })
    expect(error!.message).toMatch(/rank 0 was not found on 127.0.0.1 .*nobody listens there/)
  })

  it('a rank that is there twice', async () => {
    const port = await freePort()
    const found = await errors([0, 1, 1, 2].map((rank) => join(rank, 4, port, { timeoutMs: 5000 })))
    expect(found.every((error) => error?.code === 'ERR_GROUP_TWICE' && error.rank === 1)).toBe(true)
    expect(found[0]!.message).toMatch(/^rank 1 is there twice: process \d+ on .* and process \d+ on/)
  })

  it('rank 0 that is there twice', async () => {
    const port = await freePort()
    const found = await errors([0, 0, 1].map((rank) => join(rank, 3, port, { timeoutMs: 5000 })))
    expect(found.map((error) => [error?.code, error?.rank])).toEqual(Array(3).fill(['ERR_GROUP_TWICE', 0]))
  })

  it('a rank with other settings or another size', async () => {
    const port = await freePort()
    const settings = { size: [1, 2], mode: 'SEND' }
    const found = await errors([
      join(0, 2, port, { settings }),
      join(1, 2, port, { settings: { mode: 'SEND', size: [1, 4] } }),
    ])
    for (const error of found) expect(error).toMatchObject({ code: 'ERR_GROUP_DIFFERS', rank: 1 })
    expect(found[0]!.message).toMatch(
      /rank 1 .* has other settings than rank 0 .*: size is \[1,4\] there and \[1,2\] here/,
    )
    const other = await freePort()
    const sizes = await errors([join(0, 2, other), join(1, 3, other)])
    expect(sizes[1]!.message).toMatch(/rank 1 .* says that the group has 3 ranks, and rank 0 .* that it has 2/)
  })

  it('settings: in any order, but not of any length', async () => {
    const port = await freePort()
    const settings = (turned: boolean): Record<string, unknown> => {
      const inner = turned ? { b: [{ d: 2, c: 1 }], a: 1 } : { a: 1, b: [{ c: 1, d: 2 }] }
      return turned ? { y: inner, x: 1 } : { x: 1, y: inner }
    }
    await Promise.all([0, 1].map((rank) => join(rank, 2, port, { settings: settings(rank === 1) })))
    const [error] = await errors([join(1, 2, port, { settings: { x: '€'.repeat(30_000) } })])
    expect(error).toMatchObject({ code: 'ERR_GROUP_DIFFERS' })
    expect(error!.message).toMatch(/^the settings take 9\d{4} bytes in a message/)
  })

  it('a rank that is not at the same barrier', async () => {
    const groups = await groupOf(3)
    const found = await errors([groups[0]!.barrier({ timeoutMs: 200 }), groups[1]!.barrier()])
    expect(found[1]).toMatchObject({ code: 'ERR_GROUP_MISSING', rank: 2 })
    expect(found[0]!.message).toBe('rank 2 of 3 did not come to a barrier within 0.2 s')
    expect(groups[2]!.signal.aborted || (await once(groups[2]!.signal, 'abort'))).toBeTruthy()
  })

  it('a rank that does something else, or has left', async () => {
    const groups = await groupOf(2)
    const found = await errors([groups[0]!.barrier(), groups[1]!.allgather(Uint8Array.of(1))])
    for (const error of found) expect(error!.message).toMatch(/at an allgather.*barrier|at a barrier.*allgather/)
    const others = await groupOf(3)
    await others[1]!.close()
    const [error] = await errors([others[0]!.barrier()])
    expect(error!.message).toMatch(/rank 1 .* has left the group, and rank 0 .* is at a barrier/)
  })

  it('a rank that gives up', async () => {
    const groups = await groupOf(3)
    groups[1]!.fail('no memory')
    for (const group of groups) if (!group.signal.aborted) await once(group.signal, 'abort')
    expect((groups[2]!.signal.reason as GroupError).message).toMatch(/^rank 1 \(.*\) gave up: no memory$/)
    expect(await errors([groups[0]!.barrier()])).toEqual([groups[0]!.signal.reason])
  })
})

describe('strangers', () => {
  it('are refused without the key, and hold nobody up', async () => {
    const port = await freePort()
    const first = join(0, 2, port)
    const noise = await talkTo(port, Buffer.from('GET / HTTP/1.1\r\n\r\n'))
    const [error] = await errors([
      join(1, 2, port, { environment: { VERBENA_KEY: 'another key, as long' }, timeoutMs: 200 }),
    ])
    expect(error!.message).toMatch(/another key/)
    await Promise.all([first, join(1, 2, port)])
    expect(noise.destroyed).toBe(true)
  })

  it('that are gone before they say which rank they are had no other key', async () => {
    const port = await freePort()
    const first = errors([join(0, 2, port, { timeoutMs: 300 })])
    const gone = await connected(port)
    gone.destroy()
    const [error] = await first
    expect(error!.message).toMatch(/0\.3 s \(connections that ended before they said which rank they are: 1\)$/)
  })

  it('that listen where rank 0 should be learn nothing that lets them in', async () => {
    const server = createServer((socket) => socket.on('error', () => {}).write('220 mail.example ESMTP and so on\r\n'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const [error] = await errors([join(1, 2, port, { timeoutMs: 200 })])
    expect(error!.message).toMatch(/another program listens there/)
    server.close()
  })

  it('that have proved nothing are closed when all are there', async () => {
    const port = await freePort()
    const first = join(0, 2, port)
    const silent = await connected(port)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const closed = once(silent.resume(), 'close')
    await Promise.all([first, join(1, 2, port)])
    await closed
  })

  it('that pass everything on from another port do not stay in between', async () => {
    const { job, server, ports } = await firstPortOfAJob()
    const open = new Set<Socket>()
    let passed = 0
    server.on('connection', (socket: Socket) => {
      const onward = connect(ports[1]!, '127.0.0.1')
      open.add(socket)
      socket.on('data', (bytes) => {
        passed += bytes.length
      })
      for (const [end, other] of [
        [socket, onward],
        [onward, socket],
      ] as const)
        end.on('error', () => {}).on('close', () => other.destroy())
      socket.on('close', () => open.delete(socket))
      socket.pipe(onward).pipe(socket)
    })
    const first = joinJob(job, 0)
    // Rank 0 has found the first port taken when it listens at the second.
    ;(await connected(ports[1]!)).destroy()
    const groups = await Promise.all([first, joinJob(job, 1)])
    await turns()
    expect(passed).toBeGreaterThan(0)
    expect(open.size).toBe(0)
    await Promise.all(groups.map((group) => group.close()))
    server.close()
  })

  it('that greet and then say nothing cost seconds, not the whole time', async () => {
    const { job, server } = await firstPortOfAJob()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const clock = setInterval(() => vi.advanceTimersByTime(1000), 5)
    server.on('connection', (socket: Socket) => {
      const content = Buffer.concat([Buffer.from([1]), Buffer.from('verbena group 2\n'), randomBytes(32)])
      const length = Buffer.alloc(4)
      length.writeUInt32BE(content.length)
      socket.on('error', () => {}).write(Buffer.concat([length, content]))
    })
    const groups = await Promise.all([0, 1].map((rank) => joinJob(job, rank)))
    clearInterval(clock)
    await Promise.all(groups.map((group) => group.close()))
    server.close()
  })

  it('a key of few characters is none', async () => {
    const [error] = await errors([join(0, 2, await freePort(), { environment: { VERBENA_KEY: 'short' } })])
    expect(error).toMatchObject({ code: 'ERR_GROUP_KEY' })
  })
})

/** A job whose first port a listener of this test has. */
async function firstPortOfAJob(): Promise<{ job: string; server: Server; ports: number[] }> {
  for (;;) {
    const job = randomBytes(8).toString('hex')
    const ports = portsOf(`verbena ${job}`)
    const server = createServer()
    const listening = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(ports[0], '127.0.0.1', () => resolve(true))
    })
    if (listening) return { job, server, ports }
  }
}

async function connected(port: number): Promise<Socket> {
  for (;;) {
    const socket = connect(port, '127.0.0.1')
    try {
      await once(socket, 'connect')
      return socket.on('error', () => {})
    } catch {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

/** A connection that says this; resolves when the other end has closed it. */
async function talkTo(port: number, bytes: Buffer): Promise<Socket> {
  const socket = await connected(port)
  socket.write(bytes)
  socket.resume()
  await once(socket, 'close')
  return socket
}
