/**
 * The node-type `shmem`: samples between processes of this machine through shared memory, a region for each direction. Mode pthread: a
 * reader sleeps (futex) until it is woken; polling: it is busy, and faster by the time that waking takes.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Destination, Samples, SettingsReader, Source } from '../../index.ts'
import {
  copySample,
  GatewayError,
  type NodeContext,
  type NodeType,
  type RunningNode,
  SampleField,
  SampleFlag,
} from '../../index.ts'
import { Counters } from '../kit/counters.ts'
import { Region } from './region.ts'

interface ShmemSettings {
  readonly in: string | null
  readonly out: string | null
  readonly queueLength: number
  readonly isPolling: boolean
  readonly exec: readonly string[]
}

/** Interval at which a node checks whether the other side lives, while there is nothing else to do. */
const lookNs = 100e6
/** Reads that find nothing until a look at the clock. */
const readsPerLook = 256
/** Looks at the ring between two looks at the clock; and before a reader sleeps, some 5 µs. */
const looksPerTime = 64
/** Time for a program that the node has started to end after SIGTERM. */
const endMs = 1000

class ShmemSource implements Source {
  released = 0
  readonly #region: Region
  readonly #context: NodeContext
  readonly #counters: Counters
  readonly #isPolling: boolean
  #lookedNs = 0
  #idleReads = 0

  constructor(region: Region, context: NodeContext, counters: Counters, isPolling: boolean) {
    this.#region = region
    this.#context = context
    this.#counters = counters
    this.#isPolling = isPolling
  }

  read(samples: Int32Array, count: number): number {
    const region = this.#region
    const { pool } = this.#context
    this.released = count
    if (!region.find()) {
      this.#look()
      return 0
    }
    const ring = region.ring!
    let read = 0
    while (read < count && region.length > 0) {
      const from = region.readWord
      if (ring.u32[from + SampleField.length]! > pool.samples.values)
        this.#counters.warn('too_long', `samples with more than ${pool.samples.values} values are lost`)
      else this.#take(ring, from, samples[read++]!)
      region.haveRead()
    }
    if (read === 0 && ++this.#idleReads % readsPerLook === 0) this.#look()
    return read
  }

  #take(ring: Samples, from: number, index: number): void {
    const { pool, clock } = this.#context
    const word = pool.samples.word(index)
    copySample(ring, from, pool.samples, word)
    clock.stamp(word + SampleField.received)
    pool.samples.u32[word + SampleField.flags]! |= SampleFlag.tsReceived
  }

  wait(ms: number): void {
    const region = this.#region
    const { clock } = this.#context
    const until = clock.nowNs() + ms * 1e6
    do {
      if (region.find()) {
        for (let i = 0; i < looksPerTime; i++) if (region.length > 0) return
        if (!this.#isPolling) {
          region.sleep(Math.max(0, Math.min(until - clock.nowNs(), lookNs)) / 1e6)
          if (region.length > 0) return
        }
      }
      this.#look()
      // Without a ring there is no writer that would wake this reader.
      if (region.ring === null) region.sleep(Math.min(ms, 1))
    } while (clock.nowNs() < until)
  }

  #look(): void {
    const now = this.#context.clock.nowNs()
    if (now - this.#lookedNs < lookNs) return
    this.#lookedNs = now
    const lost = this.#region.losesPeers()
    if (lost > 0)
      this.#counters.warn(
        'peers_lost',
        `the process that writes to '${this.#region.name}' has ended without a word`,
        lost,
      )
  }
}

class ShmemDestination implements Destination {
  released = 0
  readonly #region: Region
  readonly #context: NodeContext
  readonly #counters: Counters
  #lookedNs = 0

  constructor(region: Region, context: NodeContext, counters: Counters) {
    this.#region = region
    this.#context = context
    this.#counters = counters
  }

  write(samples: Int32Array, count: number): number {
    const region = this.#region
    const records = this.#context.pool.samples
    const ring = region.ring!
    this.released = count
    if (!region.hasPeer) {
      this.#counters.add('no_reader', count)
      return 0
    }
    let written = 0
    while (written < count && !region.isFull) {
      copySample(records, records.word(samples[written]!), ring, region.writeWord)
      region.written()
      written++
    }
    region.wake()
    if (written < count) {
      this.#counters.add('overruns', count - written)
      this.flush()
    }
    return written
  }

  flush(): void {
    const now = this.#context.clock.nowNs()
    if (now - this.#lookedNs < lookNs) return
    this.#lookedNs = now
    const lost = this.#region.losesPeers()
    if (lost > 0)
      this.#counters.warn(
        'peers_lost',
        `the process that reads from '${this.#region.name}' has ended without a word`,
        lost,
      )
  }
}

class Shmem implements RunningNode {
  readonly source: ShmemSource | null
  readonly destination: ShmemDestination | null
  readonly synchronous = true
  readonly #regions: Region[] = []
  readonly #counters: Counters
  #child: ChildProcess | undefined
  #isStopped = false

  /** Makes the node. `runs`: exchanged for 1 by the thread that starts the program. */
  constructor(
    settings: ShmemSettings,
    context: NodeContext,
    directions: { in: boolean; out: boolean },
    runs: Int32Array,
  ) {
    const { isPolling, queueLength } = settings
    this.#counters = new Counters(context)
    try {
      const reads = directions.in && settings.in !== null ? this.#region(settings.in, 'reader') : null
      const writes = directions.out && settings.out !== null ? this.#region(settings.out, 'writer') : null
      writes?.make(queueLength, context.pool.samples.values)
      this.source = reads && new ShmemSource(reads, context, this.#counters, isPolling)
      this.destination = writes && new ShmemDestination(writes, context, this.#counters)
    } catch (error) {
      this.#close()
      throw error
    }
    if (settings.exec.length > 0 && Atomics.exchange(runs, 0, 1) === 0) this.#start(settings.exec, context)
  }

  #region(name: string, side: 'reader' | 'writer'): Region {
    const region = new Region(name, side)
    this.#regions.push(region)
    return region
  }

  #start([program, ...parameters]: readonly string[], context: NodeContext): void {
    const child = spawn(program!, parameters, { stdio: ['ignore', 'inherit', 'inherit'] })
    this.#child = child
    child.on('error', ({ message }) => {
      context.fail(new GatewayError('ERR_GATEWAY_NODE', `${program}: ${message}`))
    })
    child.on('exit', (code, signal) => {
      if (!this.#isStopped) context.log('warn', `${program} has ended (${signal ?? `exit code ${code}`})`)
      this.#child = undefined
    })
  }

  get state(): string {
    if (this.#isStopped) return 'stopped'
    return this.#regions.every(({ hasPeer }) => hasPeer) ? 'connected' : 'started'
  }

  counters(): Readonly<Record<string, number>> {
    return this.#counters.all
  }

  async stop(): Promise<void> {
    if (this.#isStopped) return
    this.#isStopped = true
    this.#close()
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill()
    const timer = setTimeout(() => child.kill('SIGKILL'), endMs)
    await exit.catch(() => {})
    clearTimeout(timer)
  }

  #close(): void {
    for (const region of this.#regions.splice(0)) region.close()
  }
}

/** Names of POSIX shared memory begin with a slash, and have no other. */
function nameOf(group: SettingsReader): string | null {
  if (!group.has('name')) return null
  const name = group.string('name', null, '/simulator-a')
  if (!/^\/?[\w.-]{1,100}$/.test(name))
    group.refuse('name', 'a slash and a name of letters, digits, points, dashes and underscores', '"/simulator-a"')
  return `shmem-${name.replace('/', '')}`
}

export const shmem: NodeType = {
  name: 'shmem',
  is: 'samples between processes of this machine through shared memory',
  parse(settings, { signals }) {
    const [inside, outside] = [settings.group('in'), settings.group('out')]
    if (settings.has('polling')) settings.fail('instead of polling, VILLASnode has mode = "polling" now', 'polling')
    const queueLength = 2 ** Math.ceil(Math.log2(settings.integer('queuelen', 1024, 1, 2 ** 16)))
    const read: ShmemSettings = {
      in: nameOf(inside),
      out: nameOf(outside),
      queueLength,
      isPolling: settings.choice('mode', 'pthread', ['pthread', 'polling']) === 'polling',
      exec: settings.strings('exec', [], 'simulator'),
    }
    for (const group of [inside, outside]) {
      group.any('name')
      group.done()
    }
    settings.done()
    if (read.in === null && read.out === null)
      settings.fail('it has neither in.name nor out.name: the names of the shared memory', 'in')
    return {
      signals,
      reads: read.in !== null,
      writes: read.out !== null,
      splits: true,
      share: () => new SharedArrayBuffer(4),
      start: async (context, directions, shared) =>
        new Shmem(read, context, directions, new Int32Array(shared as SharedArrayBuffer)),
    }
  },
}
