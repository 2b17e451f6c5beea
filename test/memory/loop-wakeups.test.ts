/** Waking event loops through pipes, as threads of different processes do: here both have their records in one array. */

import { once } from 'node:events'
import { closeSync, fstatSync, openSync, readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'
import { LoopWakeup, LoopWakeups } from '../../src/memory/loop-wakeups.ts'
import { startWakeupThread } from './loop-wakeups-thread.ts'
import { withoutDescriptors } from './no-descriptors.ts'

/** Longer than any test waits: what ends in time was woken. */
const longMs = 60_000
const word = 60

function pair() {
  const f64 = new Float64Array(new SharedArrayBuffer(64 * 4))
  const i32 = new Int32Array(f64.buffer)
  return { i32, ours: new LoopWakeups(i32, f64, 0), theirs: new LoopWakeups(i32, f64, 8) }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

describe.skipIf(!nativeAvailable)('wake-ups of event loops', () => {
  it('end the waits whose words have changed, and no others', async () => {
    const { i32, ours, theirs } = pair()
    expect(ours.usable && theirs.usable).toBe(true)
    const woken: number[] = []
    const first = ours.wait(word, 0, longMs).then(() => woken.push(1))
    void ours.wait(word + 1, 0, longMs).then(() => woken.push(2))
    theirs.wake(0, process.pid)
    await pause(50)
    expect(woken).toEqual([])
    i32[word] = 1
    theirs.wake(0, process.pid)
    await first
    expect(woken).toEqual([1])
    i32[word + 1] = 1
    ours.wake(0, process.pid)
    await pause(0)
    expect(woken).toEqual([1, 2])
    // Changed already, and a time that is over.
    await ours.wait(word, 0, longMs)
    await ours.wait(word, 1, 1)
  })

  it('may ring more often than anybody listens', async () => {
    const { i32, ours, theirs } = pair()
    expect(ours.usable).toBe(true)
    const waiting = ours.wait(word, 0, longMs)
    for (let i = 0; i < 100_000; i++) theirs.wake(0, process.pid)
    i32[word] = 1
    theirs.wake(0, process.pid)
    await waiting
  })

  it('that cannot be reached are given up', () => {
    const { i32, ours, theirs } = pair()
    expect(ours.usable).toBe(true)
    // In another container the number is that of another process; so is the descriptor.
    theirs.wake(0, 1)
    expect(ours.usable).toBe(false)
    const [otherOurs, otherTheirs] = [pair(), pair()]
    expect(otherOurs.ours.usable).toBe(true)
    otherOurs.i32[LoopWakeup.fd] = 0
    otherOurs.theirs.wake(0, process.pid)
    expect(otherOurs.ours.usable).toBe(false)
    expect(otherTheirs.ours.usable).toBe(true)
    expect(i32[8 + LoopWakeup.state]).toBe(0)
  })

  it('of a thread without descriptors are noticed in another way, and go on when it has some', async () => {
    const { i32, ours, theirs } = pair()
    expect(ours.usable).toBe(true)
    let touches = 0
    theirs.onUnreachable = () => touches++
    const waiting = ours.wait(word, 0, longMs)
    i32[word] = 1
    withoutDescriptors(() => {
      theirs.wake(0, process.pid)
      theirs.wake(0, process.pid)
    })
    expect([touches, ours.usable]).toEqual([2, true])
    theirs.wake(0, process.pid)
    await waiting
    expect(touches).toBe(2)
  })

  it('of a thread that ends close nothing that belongs to others', async () => {
    const { i32, ours } = pair()
    expect(ours.usable).toBe(true)
    const endWord = 50
    const before = readdirSync('/proc/self/fd').length
    for (let turn = 0; turn < 2; turn++) {
      i32.fill(0, 8, 16)
      i32[endWord] = 0
      const worker = startWakeupThread({ records: i32.buffer as SharedArrayBuffer, endWord })
      const [message] = await once(worker, 'message')
      expect(message).toEqual({ usable: true, warnings: [] })
      const wakeupFd = i32[8 + LoopWakeup.fd]!
      // From here to its end this thread takes every number that the other one gives back: whatever the other closes once
      // more is a file of this one.
      const ended = once(worker, 'exit')
      const kept: number[] = []
      const end = performance.now() + 300
      Atomics.store(i32, endWord, 1)
      Atomics.notify(i32, endWord)
      while (performance.now() < end && !(kept.includes(wakeupFd) && performance.now() > end - 200)) {
        const fd = openSync('/dev/null', 'r')
        if (fd <= wakeupFd + 32 && kept.length < 64) kept.push(fd)
        else closeSync(fd)
      }
      await ended
      expect(kept).toContain(wakeupFd)
      for (const fd of kept) {
        expect(fstatSync(fd).isCharacterDevice()).toBe(true)
        closeSync(fd)
      }
    }
    expect(readdirSync('/proc/self/fd').length).toBe(before)
  })
})
