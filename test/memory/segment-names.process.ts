/**
 * One of the processes of segment-names.test.ts: `segment-names.process.ts meet|come-and-go NAME NUMBER`, and the time to begin
 * as a message. To meet, all open a new name at times that drift by their number; to come and go, they open and leave the
 * same one until all have done so often. A visit is wrong if the name stands for another file than the one that this process is in.
 */
import { statSync } from 'node:fs'
import { Segment, segmentFilePrefix } from '../../src/memory/index.ts'

const [what, name, number] = process.argv.slice(2) as [string, string, string]
const leastRounds = 60
const options = { staticBytes: 4096, sizeBytes: 1 << 22 }
const now = (): number => performance.timeOrigin + performance.now()

function isWrong(segment: Segment): boolean {
  const file = `/dev/shm/${segmentFilePrefix}${segment.name}`
  return statSync(file, { throwIfNoEntry: false })?.ino !== segment.inode
}

function open(name: string): Segment {
  try {
    // As each process does that opens one.
    Segment.removeStale(name)
  } catch {
    // There is none, or no longer.
  }
  return Segment.named(name, options)
}

process.send!('ready')
const start = await new Promise<number>((resolve) => process.once('message', (message) => resolve(message as number)))
/** A second message: all have done what they are to do at least. */
let all = false
process.once('message', () => {
  all = true
})
/** Waits asleep but for the last two milliseconds. */
function until(ms: number): void {
  const left = ms - now() - 2
  if (left > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, left)
  while (now() < ms);
}
let rounds = 0
let wrong = 0
if (what === 'meet') {
  const opened: Segment[] = []
  for (; rounds < 60; rounds++) {
    until(start + rounds * 10 + (Number(number) * (rounds % 40)) / 40)
    opened.push(open(`${name}-${rounds}`))
  }
  process.send!('opened')
  while (!all) await new Promise((resolve) => setTimeout(resolve, 1))
  wrong = opened.filter(isWrong).length
  for (const segment of opened) segment.release(segment.me)
} else {
  until(start)
  for (; !all; rounds++) {
    const segment = open(name)
    for (let look = 0; look < 5; look++) if (isWrong(segment)) wrong++
    segment.release(segment.me)
    if (rounds === leastRounds) process.send!('often')
    await new Promise((resolve) => setImmediate(resolve))
  }
}
process.send!({ rounds, wrong }, () => process.exit(0))
