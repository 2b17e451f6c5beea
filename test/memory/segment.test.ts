import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import type { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import {
  formatSegment,
  nativeAvailable,
  nativeReason,
  pageBytes,
  processorOrders,
  Segment,
  segmentFilePrefix,
  startThread,
} from '../../src/memory/index.ts'
import { mapShared, membarrier, unmap } from '../../src/memory/native/index.ts'
import { Attachment, attachmentWord, generationMask } from '../../src/memory/segment-layout.ts'
import type { Order, SegmentWorkerData } from '../devices/shm/segment.worker.ts'
import { startable } from '../entries.ts'
import { holds } from '../property.ts'

/** The smallest segment that a process makes. */
const processOptions = { staticBytes: pageBytes, sizeBytes: 1 << 27 }
const namedOptions = { staticBytes: pageBytes, sizeBytes: 4 << 20 }
const name = `segment-test-${process.pid}`
const lockHolder = startable(new URL('./lock-holder.process.ts', import.meta.url))
const file = `/dev/shm/${segmentFilePrefix}${name}`

interface Kind {
  title: string
  name: string | null
  options: SegmentWorkerData['options']
  segment: Segment
}
const kinds: Kind[] = [
  { title: 'of the process', name: null, options: processOptions, segment: Segment.ofProcess(processOptions) },
]
if (nativeAvailable)
  kinds.push({ title: 'named', name, options: namedOptions, segment: Segment.named(name, namedOptions) })

class Thread {
  readonly worker: Worker
  #arrived: unknown[] = []
  #wake: (() => void) | null = null
  me = 0

  constructor(kind: Kind) {
    const workerData: SegmentWorkerData = { name: kind.name, options: kind.options }
    this.worker = startThread(new URL('../devices/shm/segment.worker.ts', import.meta.url), { workerData })
    this.worker.on('message', (message) => {
      this.#arrived.push(message)
      this.#wake?.()
    })
    threads.push(this)
  }

  static async start(kind: Kind): Promise<Thread> {
    const thread = new Thread(kind)
    thread.me = ((await thread.next()) as unknown as { me: number }).me
    return thread
  }

  async next(timeoutMs = 20_000): Promise<{ done: string; error: string | null }> {
    if (this.#arrived.length === 0)
      await new Promise<void>((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`the thread did not answer within ${timeoutMs} ms`)), timeoutMs)
        this.#wake = () => {
          clearTimeout(late)
          resolve()
        }
      })
    this.#wake = null
    return this.#arrived.shift() as { done: string; error: string | null }
  }

  order(order: Order): void {
    this.worker.postMessage(order)
  }

  async carryOut(order: Order): Promise<void> {
    this.order(order)
    const { error } = await this.next()
    if (error !== null) throw new Error(error)
  }
}

/** What `reapDead` does, in the janitor or in the next thread that opens a device. */
function reap(segment: Segment): void {
  for (const dead of segment.deadAttachments()) {
    const attachment = segment.claim(dead)
    if (attachment !== 0) segment.release(attachment)
  }
}

const threads: Thread[] = []
afterEach(async () => {
  for (const thread of threads.splice(0)) await thread.worker.terminate()
  for (const { segment } of kinds) reap(segment)
})

describe.skipIf(nativeAvailable)(`named segments: ${nativeReason}`, () => {
  it.skip('need the native layer', () => {})
})

describe.each(kinds)('segment $title', (kind) => {
  const { segment } = kind
  const { i32, u8 } = segment
  const heapPages = (segment.sizeBytes - segment.heapStart) / pageBytes

  it('allocates without overlap, zeroed, and everything freed can be allocated again', () => {
    // Everything that is there at the beginning stays; the largest run then is what must be there at the end.
    const command = fc.oneof(
      { weight: 3, arbitrary: fc.record({ take: fc.integer({ min: 1, max: Math.floor(heapPages / 6) * pageBytes }) }) },
      { weight: 2, arbitrary: fc.record({ give: fc.nat() }) },
    )
    holds(
      fc.property(fc.array(command, { maxLength: 40 }), (commands) => {
        const live: { at: number; bytes: number }[] = []
        for (const each of commands) {
          if ('take' in each) {
            let at: number
            try {
              at = segment.allocate(each.take)
            } catch (error) {
              expect(String(error)).toMatch(
                /contiguous bytes left in the \d+ MiB of the segment; free something or set VERBENA_SHM_MIB/,
              )
              expect(error).toMatchObject({ code: 'ENOMEM' })
              continue
            }
            const bytes = Math.ceil(each.take / pageBytes) * pageBytes
            expect(at % pageBytes).toBe(0)
            expect(at).toBeGreaterThanOrEqual(segment.heapStart)
            expect(at + bytes).toBeLessThanOrEqual(segment.sizeBytes)
            for (const other of live) expect(at + bytes <= other.at || other.at + other.bytes <= at).toBe(true)
            expect(segment.allocatedBytes(at)).toBe(bytes)
            for (const probe of [at, at + bytes / 2, at + bytes - 64])
              expect(u8.subarray(probe, probe + 64).every((byte) => byte === 0)).toBe(true)
            u8[at] = 0xee
            u8[at + bytes / 2] = 0xee
            u8[at + bytes - 1] = 0xee
            live.push({ at, bytes })
          } else if (live.length > 0) {
            const [gone] = live.splice(each.give % live.length, 1)
            expect(u8[gone!.at]).toBe(0xee)
            segment.free(gone!.at)
            expect(segment.allocatedBytes(gone!.at)).toBe(0)
          }
        }
        for (const { at } of live) {
          expect(u8[at]).toBe(0xee)
          segment.free(at)
        }
        segment.free(segment.allocate(Math.floor(heapPages / 2) * pageBytes))
      }),
      30,
    )
  })

  it('says what to do when memory ends, and refuses more than there is', () => {
    expect(() => segment.allocate(segment.sizeBytes)).toThrow(/set VERBENA_SHM_MIB to more/)
    expect(() => segment.allocate(2 ** 34)).toThrow(/more than one allocation can have/)
    expect(segment.allocatedBytes(segment.heapStart + 1)).toBe(0)
    segment.free(segment.allocate(pageBytes))
  })

  it('a lock lets one thread in at a time', async () => {
    const at = segment.allocate(pageBytes) / 4
    const started = await Promise.all([Thread.start(kind), Thread.start(kind)])
    const times = 100_000
    const done = started.map((thread) => thread.carryOut({ do: 'count', lock: at, word: at + 32, times }))
    for (let i = 0; i < times; i++) {
      segment.lock(at)
      i32[at + 32] = i32[at + 32]! + 1
      segment.unlock(at)
    }
    await Promise.all(done)
    expect(i32[at + 32]).toBe(3 * times)
    expect(i32[at]).toBe(0)
    segment.free(at * 4)
  })

  it('the lock of a thread that was terminated is taken over', async () => {
    const at = segment.allocate(pageBytes) / 4
    const thread = await Thread.start(kind)
    await thread.carryOut({ do: 'lock', lock: at })
    expect(i32[at]).not.toBe(0)
    await thread.worker.terminate()
    segment.lock(at)
    segment.unlock(at)
    expect(i32[at]).toBe(0)
    segment.free(at * 4)
  })

  it('also when its attachment was given to a new thread meanwhile', async () => {
    const at = segment.allocate(pageBytes) / 4
    const thread = await Thread.start(kind)
    await thread.carryOut({ do: 'lock', lock: at })
    await thread.worker.terminate()
    reap(segment)
    const next = await Thread.start(kind)
    expect(next.me).toBe(thread.me)
    await next.carryOut({ do: 'pass', lock: at })
    expect(i32[at]).toBe(0)
    segment.free(at * 4)
  })

  it('who is late to clean up after a thread does not touch the next one with its attachment', async () => {
    const thread = await Thread.start(kind)
    await thread.worker.terminate()
    const [dead, ...others] = segment.deadAttachments()
    expect(others).toEqual([])
    reap(segment)
    // The last of its generations, behind which they begin again.
    i32[attachmentWord(thread.me) + Attachment.generation] = generationMask
    const next = await Thread.start(kind)
    expect(i32[attachmentWord(thread.me) + Attachment.state]).toBe(thread.me)
    expect(next.me).toBe(thread.me)
    expect(segment.claim(dead!)).toBe(0)
    expect([segment.attachmentAlive(next.me), segment.deadAttachments()]).toEqual([true, []])
  })

  it('another thread goes on where one ended that cleaned up after a third', async () => {
    const [first, second] = [await Thread.start(kind), await Thread.start(kind)]
    await first.worker.terminate()
    const [dead] = segment.deadAttachments()
    await second.carryOut({ do: 'claim', use: dead! })
    expect([segment.deadAttachments(), segment.claim(dead!)]).toEqual([[], 0])
    await second.worker.terminate()
    reap(segment)
    const next = [await Thread.start(kind), await Thread.start(kind)]
    expect(next.map(({ me }) => me).sort()).toEqual([first.me, second.me].sort())
  })

  it('a thread that takes a lock twice is told so', () => {
    const at = segment.allocate(pageBytes) / 4
    segment.lock(at)
    expect(() => segment.lock(at)).toThrow(/held by this thread already/)
    segment.unlock(at)
    segment.free(at * 4)
  })

  it('no bump of the epoch is lost, whoever else bumps it', async () => {
    const before = i32[segment.epochWord]!
    const thread = await Thread.start(kind)
    const times = 50_000
    const done = thread.carryOut({ do: 'bump', times })
    for (let i = 0; i < times; i++) segment.bumpEpoch()
    await done
    expect(i32[segment.epochWord]).toBe((before + 2 * times) | 0)
  })

  it.skipIf(!nativeAvailable || !processorOrders)('operations are entered without a barrier of their own', async () => {
    expect(segment.entersFreely()).toBe(true)
    // `quiesce` makes the barriers: those of all processes that use a named segment.
    expect(membarrier(kind.name === null ? 'process' : 'processes')).toBe(true)
  })

  it('quiesce waits for operations that are outstanding in other threads, not for its own or later ones', async () => {
    const thread = await Thread.start(kind)
    const at = segment.allocate(pageBytes) / 4
    await thread.carryOut({ do: 'enter' })
    // The other thread says that it is about to leave by the word, a while after this one has begun to wait.
    thread.order({ do: 'leave-later', word: at, afterMs: 100 })
    segment.enter()
    segment.quiesce()
    expect(i32[at]).toBe(1)
    segment.quiesce()
    segment.leave()
    expect((await thread.next()).error).toBe(null)
    segment.free(at * 4)
  })

  it('quiesce does not wait for a thread that died in the middle of an operation', async () => {
    const thread = await Thread.start(kind)
    await thread.carryOut({ do: 'enter' })
    await thread.worker.terminate()
    const start = performance.now()
    segment.quiesce()
    expect(performance.now() - start).toBeLessThan(10_000)
  })

  it('waits until notified, at most its time, and not at all if the word has changed', async () => {
    const at = segment.allocate(pageBytes) / 4
    const thread = await Thread.start(kind)
    segment.wait(at, 1, 20_000)
    segment.wait(at, 0, 5)
    thread.order({ do: 'wait', word: at, expected: 0, timeoutMs: 20_000 })
    await new Promise((resolve) => setTimeout(resolve, 20))
    Atomics.store(i32, at, 1)
    segment.notify(at)
    expect(await thread.next(10_000)).toMatchObject({ done: 'wait', error: null })
    thread.order({ do: 'notify', word: at, value: 2 })
    while (Atomics.load(i32, at) === 1) segment.wait(at, 1, 10_000)
    expect(i32[at]).toBe(2)
    segment.free(at * 4)
  })

  it('waits without blocking the event loop', async () => {
    const at = segment.allocate(pageBytes) / 4
    const thread = await Thread.start(kind)
    let turns = 0
    const turning = setInterval(() => turns++, 1)
    await segment.waitAsync(at, 0, 30)
    expect(turns).toBeGreaterThan(0)
    await segment.waitAsync(at, 7, 20_000)
    thread.order({ do: 'notify', word: at, value: 1 })
    const start = performance.now()
    while (Atomics.load(i32, at) === 0 && performance.now() - start < 10_000) await segment.waitAsync(at, 0, 100)
    expect(i32[at]).toBe(1)
    clearInterval(turning)
    segment.free(at * 4)
  })
})

describe.skipIf(!nativeAvailable)('a process that is stopped, by a debugger for example', () => {
  it('keeps its locks and its operation: others wait, without an error, and go on after it', async () => {
    const kind = kinds[1]!
    const { segment } = kind
    const at = segment.allocate(pageBytes) / 4
    const { file, execArgv } = lockHolder
    const holder = fork(file, [name, `${namedOptions.staticBytes}`, `${at}`], { execArgv })
    await once(holder, 'message')
    const [thread, waiting] = [await Thread.start(kind), await Thread.start(kind)]
    holder.kill('SIGSTOP')
    const state = (): string => readFileSync(`/proc/${holder.pid}/stat`, 'latin1').split(') ')[1]![0]!
    while (state() !== 'T') await new Promise((resolve) => setTimeout(resolve, 1))
    Atomics.store(segment.i32, at + 1, 1)
    const ended: string[] = []
    const counted = thread.carryOut({ do: 'count', lock: at, word: at + 3, times: 1 }).then(() => ended.push('lock'))
    const quiesced = waiting.carryOut({ do: 'quiesce' }).then(() => ended.push('quiesce'))
    // Long enough for both to have looked whether it lives, more than once.
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect([ended, segment.i32[at + 2], segment.i32[at + 3]]).toEqual([[], 0, 0])
    holder.kill('SIGCONT')
    await Promise.all([counted, quiesced])
    expect([segment.i32[at], segment.i32[at + 2], segment.i32[at + 3]]).toEqual([0, 1, 1])
    segment.free(at * 4)
  })
})

describe.skipIf(!nativeAvailable)('memory of the system', () => {
  const large = { staticBytes: pageBytes, sizeBytes: 1 << 27 }
  const other = `${name}-memory`
  const cases = [
    { title: 'of the process', open: () => kinds[0]!.segment, mib: () => process.memoryUsage.rss() / 2 ** 20 },
    {
      title: 'named',
      open: () => Segment.named(other, large),
      mib: () => statSync(`/dev/shm/${segmentFilePrefix}${other}`).blocks / 2048,
    },
  ]

  it.each(cases)('after 100,000 allocations it is what it was after 100: $title', ({ title, open, mib }) => {
    const segment = open()
    const kept: number[] = []
    const turn = (i: number): void => {
      const pages = 1 + ((i * 7) % 5)
      const at = segment.allocate(pages * pageBytes)
      for (let page = 0; page < pages; page++) segment.u8[at + page * pageBytes] = 1
      kept.push(at)
      if (kept.length > 20) segment.free(kept.splice((i * 13) % 20, 1)[0]!)
    }
    for (let i = 0; i < 100; i++) turn(i)
    const before = mib()
    for (let i = 0; i < 100_000; i++) turn(i)
    // Of the whole process other things are in it, too; the segment has 128.
    expect(mib() - before).toBeLessThan(title === 'named' ? 1 : 40)
    for (const at of kept) segment.free(at)
    if (title === 'named') segment.release(segment.me)
  })

  it.each(cases)('large ranges go back: $title', ({ title, open, mib }) => {
    const segment = open()
    const before = mib()
    for (let turn = 0; turn < 3; turn++) {
      const at = segment.allocate(96 << 20)
      let notZero = 0
      for (let byte = at; byte < at + (96 << 20); byte += 1021) if (segment.u8[byte] !== 0) notZero++
      expect(notZero).toBe(0)
      segment.u8.fill(1, at, at + (96 << 20))
      expect(mib() - before).toBeGreaterThan(80)
      segment.free(at)
      expect(mib() - before).toBeLessThan(title === 'named' ? 6 : 40)
    }
    if (title === 'named') segment.release(segment.me)
  })
})

describe.skipIf(!nativeAvailable)('names', () => {
  it.each([
    ['random bytes', randomBytes(1 << 20)],
    ['an odd length', new Uint8Array(12_345)],
    ['less than a header', new Uint8Array(4096)],
  ])('a file of %s is replaced when it is opened, and is no device until then', (_, bytes) => {
    const damaged = `${name}-damaged`
    const path = `/dev/shm/${segmentFilePrefix}${damaged}`
    writeFileSync(path, bytes, { mode: 0o600 })
    expect(Segment.peek(damaged, pageBytes, 4096, () => true)).toBe(null)
    expect(Segment.removeStale(damaged)).toBe(false)
    expect(existsSync(path)).toBe(true)
    const opened = Segment.named(damaged, namedOptions)
    expect(opened.sizeBytes).toBe(namedOptions.sizeBytes)
    opened.release(opened.me)
    expect(existsSync(path)).toBe(false)
  })

  describe.each([
    { what: 'whose creator died before it had begun to fill it', state: 0, formatted: false },
    { what: 'whose creator died before it was ready', state: 0, formatted: true },
    { what: 'whose last user died between giving it up and deleting its name', state: 2, formatted: true },
  ])('one $what', ({ state, formatted }) => {
    const left = `${name}-left`
    const path = `/dev/shm/${segmentFilePrefix}${left}`
    const stateWord = 7

    /** It is there, and used as long as nobody has unmapped it. */
    function made(): ArrayBuffer {
      const { buffer } = mapShared(segmentFilePrefix + left, namedOptions.sizeBytes, 'create')
      const i32 = new Int32Array(buffer)
      if (formatted) formatSegment(i32, buffer.byteLength, namedOptions.staticBytes)
      i32[stateWord] = state
      return buffer
    }

    it('is replaced when it is opened', () => {
      unmap(made())
      const opened = Segment.named(left, namedOptions)
      opened.release(opened.me)
      expect(existsSync(path)).toBe(false)
    })

    it('is removed by whoever looks for such, once it is dead', () => {
      const buffer = made()
      expect(Segment.removeStale(left)).toBe(false)
      unmap(buffer)
      // Other test files, which open devices, look for such, too.
      while (existsSync(path)) {
        try {
          Segment.removeStale(left)
        } catch (error) {
          expect(error).toMatchObject({ code: 'ENOENT' })
        }
      }
    })
  })

  it('looking into one maps its head and no more, however large it is', () => {
    const large = `${name}-large`
    const used = Segment.named(large, { ...namedOptions, sizeBytes: 256 << 20 })
    const before = process.memoryUsage().arrayBuffers
    const seen = Segment.peek(large, namedOptions.staticBytes, 64, (i32, tables) => [i32.byteLength, tables * 4])
    expect(seen).toEqual([used.staticStart + 64, used.staticStart])
    expect(Segment.removeStale(large)).toBe(false)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1 << 20)
    used.release(used.me)
  })

  it('one that processes of another PID namespace use is refused while one of them lives, and replaced after', () => {
    const foreign = `${name}-foreign`
    const segment = Segment.named(foreign, namedOptions)
    // As if this thread had come from another container.
    const pidNamespaceWord = (4096 + segment.me * 128) / 4 + 13
    expect(segment.i32[pidNamespaceWord]).not.toBe(0)
    segment.i32[pidNamespaceWord]! ^= 1
    expect(() => Segment.named(foreign, namedOptions)).toThrow(/another container \(PID namespace\).*docker run --pid/)
    expect(Segment.removeStale(foreign)).toBe(false)
    // Nobody is told dead who may live.
    expect(segment.attachmentAlive(segment.me)).toBe(true)
    unmap(segment.buffer as ArrayBuffer)
    const next = Segment.named(foreign, namedOptions)
    expect(next.inode).not.toBe(segment.inode)
    next.release(next.me)
  })

  it('one of another version is refused while a thread uses it, and replaced after, whatever its attachments say', () => {
    const other = `${name}-other`
    const segment = Segment.named(other, namedOptions)
    const [versionWord, version] = [1, segment.i32[1]!]
    segment.i32[versionWord] = version + 1
    expect(() => Segment.named(other, namedOptions)).toThrow(
      new RegExp(`another version.*layout ${version + 1} with tables of 4096 bytes, not layout ${version} .*fuser`),
    )
    // What lies where attachments do here still names this thread, which lives.
    unmap(segment.buffer as ArrayBuffer)
    const next = Segment.named(other, namedOptions)
    expect(next.inode).not.toBe(segment.inode)
    next.release(next.me)
  })

  it('the last to leave takes the name away', () => {
    const segment = kinds[1]!.segment
    expect(existsSync(file)).toBe(true)
    segment.release(segment.me)
    expect(existsSync(file)).toBe(false)
  })
})
