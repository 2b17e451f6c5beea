/**
 * The other side of parking.test.ts, as a process or as a thread: it waits in one way until a number is thrown to it, and throws it back, so
 * often. The numbers, and how it fared, are words of the segments.
 */
import { isMainThread, parentPort } from 'node:worker_threads'
import { type Parking, Segment, threadData, waitReadable } from '../../src/memory/index.ts'
import { Ball, type Game, options } from './parking-game.ts'

async function play(
  { names, way, rounds, watched = [], thrower }: Game,
  here: (attachments: number[]) => void,
): Promise<void> {
  const segments = names.map((name) => Segment.named(name, options))
  const parkings = segments.map(({ parking }) => parking)
  const fds = new Int32Array(2 * parkings.length)
  const first = segments[0]!
  const word = (each: Segment, index: number): number => each.staticStart / 4 + index
  const count = (index: number): number => Atomics.add(first.i32, word(first, index), 1)
  if (watched.length > 0 && !first.parking.watchInLoop(Int32Array.from(watched), watched.length))
    throw new Error('the kernel takes no poll requests')
  here(segments.map(({ me }) => me))
  for (let round = 0; round < rounds; round++) {
    const segment = segments[round % segments.length]!
    const { i32, parking } = segment
    const there = word(segment, Ball.there)
    const seen = Math.floor(round / segments.length)
    while (Atomics.load(i32, there) === seen) {
      count(Ball.waits)
      if (way === 'futex') parking.park(there, seen, Number.POSITIVE_INFINITY)
      else if (way === 'loop') await parking.waitInLoop(there, seen, 3600e3)
      else if (block(parkings, fds, () => Atomics.load(i32, there) !== seen)) count(Ball.woken)
      else if (Atomics.load(i32, there) !== seen) count(Ball.lost)
    }
    Atomics.store(first.i32, word(first, Ball.back), round + 1)
    first.wake(thrower)
  }
}

/** Whether anything but a time-out ended the wait. */
function block(parkings: readonly Parking[], fds: Int32Array, over: () => boolean): boolean {
  for (const parking of parkings) parking.beginWait()
  const woken = over() || waitReadable(parkings, fds, 0, Number.POSITIVE_INFINITY) > 0
  for (const parking of parkings) parking.endWait()
  return woken
}

if (isMainThread) {
  setInterval(() => {}, 1000)
  await play(JSON.parse(process.argv[2]!) as Game, (attachments) => process.send!(attachments))
} else {
  setInterval(() => {}, 1000)
  await play(threadData<Game>(), (attachments) => parentPort!.postMessage(attachments))
}
