/** Waiting and waking between processes, in named segments: every way of waiting, and what a record passes on. */
import { readdirSync, rmSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import {
  nativeAvailable,
  nativeReason,
  Segment,
  segmentFilePrefix,
  UdpSocket,
  waitReadable,
} from '../../src/memory/index.ts'
import { LoopWakeup } from '../../src/memory/loop-wakeups.ts'
import { closeFd, drainEventFd, makeEventFd } from '../../src/memory/native/index.ts'
import { Attachment, attachmentWord } from '../../src/memory/segment-layout.ts'
import { Ball, type Game, options } from './parking-game.ts'
import { type Player, startPlayer } from './parking-players.ts'

describe.skipIf(nativeAvailable)(`waiting between processes: ${nativeReason}`, () => {
  it.skip('needs the native layer', () => {})
})

const names: string[] = []
function newSegment(): Segment {
  const name = `parking-${process.pid}-${names.length}`
  names.push(name)
  return Segment.named(name, options)
}

const players: Player[] = []
async function play(game: Omit<Game, 'thrower' | 'names'>, segments: Segment[], where: 'process' | 'thread') {
  const player = await startPlayer(
    { ...game, names: segments.map(({ name }) => name!), thrower: segments[0]!.me },
    where,
  )
  players.push(player)
  return player
}

afterAll(async () => {
  for (const player of players) await player.kill()
  for (const name of names) rmSync(`/dev/shm/${segmentFilePrefix}${name}`, { force: true })
})

const word = (segment: Segment, index: number): number => segment.staticStart / 4 + index
const read = (segment: Segment, index: number): number => Atomics.load(segment.i32, word(segment, index))
const longMs = 3600e3

/** Throws once, and waits in the event loop until it comes back. No time-out would end that in time. */
async function throwOnce(segments: readonly Segment[], { attachments }: Player): Promise<void> {
  const first = segments[0]!
  const round = read(first, Ball.back)
  const i = round % segments.length
  const segment = segments[i]!
  Atomics.add(segment.i32, word(segment, Ball.there), 1)
  segment.wake(attachments[i]!)
  while (read(first, Ball.back) === round) await first.parking.waitInLoop(word(first, Ball.back), round, longMs)
}

async function until(over: () => boolean): Promise<void> {
  while (!over()) await new Promise((resolve) => setTimeout(resolve, 1))
}

/** Until the player waits, as its record says. */
async function untilParked(segment: Segment, { attachments }: Player): Promise<void> {
  await until(() => at(segment, attachments[0]!, Attachment.parked) !== 0)
}

function at({ i32 }: Segment, attachment: number, word: number): number {
  return Atomics.load(i32, attachmentWord(attachment) + word)
}

describe.skipIf(!nativeAvailable)('in a named segment', () => {
  const ways = ['futex', 'descriptors', 'loop'] as const
  const places = ['process', 'thread'] as const
  for (const where of places)
    for (const way of ways)
      it(`no wake-up of another ${where} is lost that waits by ${way}`, async () => {
        const segment = newSegment()
        const rounds = 1000
        const player = await play({ way, rounds }, [segment], where)
        // Each time it really waits, so that each time it is woken.
        for (let round = 0; round < rounds; round++) {
          if (round % 20 === 0) await untilParked(segment, player)
          await throwOnce([segment], player)
        }
        expect(read(segment, Ball.lost)).toBe(0)
        expect(read(segment, Ball.waits)).toBeGreaterThanOrEqual(rounds / 20)
      })

  it('one wait in the kernel serves several segments', async () => {
    const segments = [newSegment(), newSegment(), newSegment()]
    const rounds = 600
    const player = await play({ way: 'descriptors', rounds }, segments, 'process')
    for (let round = 0; round < rounds; round++) {
      if (round % 20 === 0) await untilParked(segments[0]!, player)
      await throwOnce(segments, player)
    }
    expect(read(segments[0]!, Ball.lost)).toBe(0)
    expect(read(segments[0]!, Ball.woken)).toBeGreaterThanOrEqual(rounds / 20)
  })

  it('a wake-up without a wait is forgotten, one during a wait ends it once', () => {
    const segment = newSegment()
    const { parking } = segment
    const fds = new Int32Array(2)
    segment.wake(segment.me)
    parking.beginWait()
    expect(waitReadable([parking], fds, 0, 0)).toBe(0)
    Segment.named(segment.name!, options).wake(segment.me)
    expect(waitReadable([parking], fds, 0, longMs)).toBe(1)
    parking.endWait()
    parking.beginWait()
    expect(waitReadable([parking], fds, 0, 1)).toBe(0)
    parking.endWait()
  })

  it('one that cannot be reached goes on all the same, by looking', async () => {
    const segment = newSegment()
    const player = await play({ way: 'descriptors', rounds: 20 }, [segment], 'process')
    await untilParked(segment, player)
    // As if the descriptor were another file's.
    segment.f64[(attachmentWord(player.attachments[0]!) + Attachment.loopWakeup + LoopWakeup.inode) >> 1]!++
    for (let round = 0; round < 20; round++) await throwOnce([segment], player)
    expect(read(segment, Ball.woken)).toBeLessThan(20)
  })

  it.skipIf(process.env.VERBENA_LOOKS === '0')(
    'one that rests is told by the file of the segment where it cannot be reached, and looks more and more seldom',
    async () => {
      const segment = newSegment()
      const player = await play({ way: 'descriptors', rounds: 1 }, [segment], 'process')
      // After waits of 250 ms, 500 ms and 1 s: the next takes 2 s.
      await until(() => read(segment, Ball.waits) >= 4)
      await untilParked(segment, player)
      const waits = read(segment, Ball.waits)
      segment.f64[(attachmentWord(player.attachments[0]!) + Attachment.loopWakeup + LoopWakeup.inode) >> 1]!++
      await throwOnce([segment], player)
      expect([read(segment, Ball.waits), read(segment, Ball.lost)]).toEqual([waits, 0])
    },
  )

  it('who was about to be woken by one that has ended is woken by the one that cleans up', () => {
    const segment = newSegment()
    const { parking, i32, me } = segment
    const other = Segment.named(segment.name!, options)
    parking.beginWait()
    // So far the one that was killed has come.
    Atomics.store(i32, attachmentWord(me) + Attachment.parked, 0)
    other.wake(me)
    expect(waitReadable([parking], new Int32Array(2), 0, 0)).toBe(0)
    other.parking.wakeAll()
    expect(waitReadable([parking], new Int32Array(2), 0, longMs)).toBe(1)
    parking.endWait()
  })

  describe('poll requests', () => {
    const memory = new ArrayBuffer(4096)
    const sockets: UdpSocket[] = []
    afterAll(() => {
      for (const socket of sockets) socket.close()
    })
    const loopback = Uint8Array.of(127, 0, 0, 1)
    function open(): UdpSocket {
      const socket = UdpSocket.open(memory, { address: loopback, port: 0 })
      sockets.push(socket)
      return socket
    }
    function send(from: UdpSocket, to: UdpSocket): void {
      expect(from.send(0, 8, 0, from.destination(loopback, to.port))).toBe(8)
    }
    /** Whether anything rings for the event loop of this thread. */
    function listen({ parking }: Segment): () => Promise<void> {
      let rung = 0
      let seen = 0
      parking.loop.listen({ woken: () => rung++, stillWaiting: () => {} })
      return async () => {
        await until(() => rung > seen)
        seen = rung
      }
    }
    const context = ({ f64 }: Segment, attachment: number) => ({
      get: () => f64[(attachmentWord(attachment) + Attachment.pollContext) >> 1]!,
      set: (value: number) => {
        f64[(attachmentWord(attachment) + Attachment.pollContext) >> 1] = value
      },
    })

    it('wake the event loop for sockets', async () => {
      const segment = newSegment()
      const [a, b] = [open(), open()]
      const fds = Int32Array.of(a.fd, b.fd)
      const rung = listen(segment)
      expect(segment.parking.watchInLoop(fds, 2)).toBe(true)
      for (const [from, to] of [
        [a, b],
        [b, a],
        [a, b],
      ] as const) {
        send(from, to)
        await rung()
        expect(to.receive(1024, 1024)).toBe(8)
        expect(segment.parking.watchInLoop(fds, 2)).toBe(true)
      }
    })

    it('are ended in this process only', async () => {
      const segment = newSegment()
      const [a, b] = [open(), open()]
      const rung = listen(segment)
      expect(segment.parking.watchInLoop(Int32Array.of(a.fd), 1)).toBe(true)
      const player = await play({ way: 'loop', rounds: 1 }, [segment], 'process')
      // As if the other process had the same number by chance.
      const [ours, theirs] = [context(segment, segment.me), context(segment, player.attachments[0]!)]
      const number = ours.get()
      expect(number).not.toBe(0)
      theirs.set(number)
      ours.set(0)
      segment.endPollRequests()
      expect(theirs.get()).toBe(number)
      ours.set(number)
      send(b, a)
      await rung()
      // And those of this one: nothing rings any more.
      expect(segment.parking.watchInLoop(Int32Array.of(b.fd), 1)).toBe(true)
      segment.endPollRequests()
      expect([ours.get(), theirs.get()]).toEqual([0, number])
    })

    it('of a thread that was terminated end with its attachment, and leave no descriptor', async () => {
      const segment = newSegment()
      const socket = UdpSocket.open(memory, { address: loopback, port: 0 })
      const descriptors = (): number => readdirSync('/proc/self/fd').length
      const before = descriptors()
      const player = await play({ way: 'descriptors', rounds: 1, watched: [socket.fd] }, [segment], 'thread')
      await untilParked(segment, player)
      await player.kill()
      await until(() => descriptors() === before)
      const [id] = player.attachments as [number]
      expect(context(segment, id).get()).not.toBe(0)
      // The pending request keeps the socket, and its port.
      const { port } = socket
      socket.close()
      const again = () => UdpSocket.open(memory, { address: loopback, port })
      expect(again).toThrow(/is in use/)
      segment.release(segment.claim(at(segment, id, Attachment.state)))
      expect(context(segment, id).get()).toBe(0)
      sockets.push(again())
    })

    it('stay with their process while it lives, and are forgotten after', async () => {
      const segment = newSegment()
      const player = await play({ way: 'futex', rounds: 1 }, [segment], 'process')
      const [id] = player.attachments as [number]
      // Its thread has ended and was cleaned up after by this process; its requests may still be pending.
      context(segment, id).set(0x7777)
      segment.release(segment.claim(at(segment, id, Attachment.state)))
      const another = Segment.named(segment.name!, options)
      expect(another.me).not.toBe(id)
      expect(context(segment, id).get()).toBe(0x7777)
      await player.kill()
      const heir = Segment.named(segment.name!, options)
      expect(heir.me).toBe(id)
      expect(context(segment, id).get()).toBe(0)
    })
  })

  it('a descriptor that a record names is signalled by nobody', async () => {
    const segment = newSegment()
    const player = await play({ way: 'descriptors', rounds: 3 }, [segment], 'process')
    await untilParked(segment, player)
    // A number of the other process, which is one of this process, too.
    const eventFd = makeEventFd()
    segment.i32[attachmentWord(player.attachments[0]!) + Attachment.eventFd] = eventFd + 1
    for (let round = 0; round < 3; round++) await throwOnce([segment], player)
    expect(drainEventFd(eventFd)).toBe(false)
    closeFd(eventFd)
  })
})
