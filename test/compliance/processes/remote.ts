/**
 * Objects of the verbs in another process, as if they were here: each method call and property becomes a request, and the caller blocks
 * until it is answered. A test of the suite cannot tell the difference, so both its ends can be in different processes.
 *
 *     test ── proxy.postSend(wr) ──▶ FIFO ──▶ end.process.ts: qp.postSend(wr)
 *          ◀── returns, or throws ── FIFO ◀──
 *
 * What gives a promise (`nextEvent`, iterators) runs in the other process; here a promise asks now and then whether that is settled.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Context, type OpenOptions, openDevice, WorkCompletion } from '../../../src/index.ts'
import { waitReadable } from '../../../src/memory/native/index.ts'
import { QueuePairObject } from '../../../src/verbs/api/queue-pair.ts'
import { startable } from '../../entries.ts'
import { type ServiceCall, serviceHere } from '../rig.ts'
import {
  type Answer,
  type Codec,
  decode,
  encode,
  Frames,
  frame,
  isValue,
  kindOf,
  marked,
  type Named,
  type Request,
  rethrow,
  symbols,
} from './values.ts'

/** For one answer: a verb that takes longer has hung. */
const patienceMs = 30_000
const symbolNames = new Map(Object.entries(symbols).map(([name, symbol]) => [symbol, name]))
/** `endpointOf` asks whether it has a queue pair. */
const prototypes: Readonly<Record<string, object>> = { QueuePairObject: QueuePairObject.prototype }

export class OtherProcess {
  readonly #child: ChildProcess
  readonly #folder = mkdtempSync(join(tmpdir(), 'verbena-compliance-'))
  readonly #requests: number
  readonly #answers: number
  readonly #frames = new Frames()
  readonly #bytes = Buffer.alloc(65_536)
  /** By number, so that one object of the other process is one here. */
  readonly #proxies = new Map<number, object>()
  readonly #ids = new WeakMap<object, number>()
  /** By class and name: whether it is a method. */
  readonly #isMethod = new Map<string, boolean>()
  readonly #mapping: Context
  readonly #codec: Codec

  /** Starts it. This process maps the memory of the same device, and views of the other's buffers are of that. */
  constructor(name: string, options: OpenOptions = {}) {
    this.#mapping = openDevice(name, options)
    const memory = this.#mapping.device.host.segment.buffer
    this.#codec = {
      memory: () => memory,
      nameOf: (value) => this.#nameOf(value),
      named: (marked) => this.#named(marked),
    }
    const fifos = ['requests', 'answers'].map((fifo) => join(this.#folder, fifo))
    const made = spawnSync('mkfifo', fifos)
    if (made.status !== 0) throw made.error ?? new Error(`mkfifo: ${made.stderr}`)
    // Both directions, or without waiting: neither blocks until the other process opens it as well.
    this.#requests = openSync(fifos[0]!, constants.O_RDWR)
    this.#answers = openSync(fifos[1]!, constants.O_RDONLY | constants.O_NONBLOCK)
    const { file, execArgv } = startable(new URL('./end.process.ts', import.meta.url))
    this.#child = spawn(process.execPath, [...execArgv, file, ...fifos], { stdio: ['ignore', 'inherit', 'inherit'] })
    this.#answer()
  }

  get pid(): number {
    return this.#child.pid!
  }

  /** `openDevice` over there. */
  open(name: string, options: OpenOptions = {}): Context {
    return this.#ask({ op: 'open', args: [name, options] }) as Context
  }

  /** Runs `registerService` or `unregisterService` in the process of the queue pair. */
  readonly service: ServiceCall = (name, ...args) => {
    if (!this.#ids.has(args[0])) serviceHere(name, ...args)
    else this.#ask({ op: 'service', name, args: encode(this.#codec, args) as unknown[] })
  }

  close(): void {
    this.#child.kill('SIGKILL')
    closeSync(this.#requests)
    closeSync(this.#answers)
    rmSync(this.#folder, { recursive: true })
    this.#mapping.close()
  }

  #ask(request: Request): unknown {
    const bytes = frame(request)
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#requests, bytes, at)
    return this.#answer()
  }

  /** Blocks until the next answer has come. */
  #answer(): unknown {
    const fds = Int32Array.of(this.#answers)
    const deadline = performance.now() + patienceMs
    for (;;) {
      const next = this.#frames.next<Answer>()
      if (next !== null) {
        const [answer] = next
        if ('error' in answer) rethrow(this.#codec, answer.error)
        return decode(this.#codec, answer.value)
      }
      const leftMs = deadline - performance.now()
      if (leftMs <= 0) throw new Error(`the other process has not answered for ${patienceMs / 1000} s`)
      if (waitReadable(fds, 1, leftMs) === 0) continue
      const n = readSync(this.#answers, this.#bytes)
      if (n === 0) throw new Error('the other process has ended')
      this.#frames.add(this.#bytes.subarray(0, n))
    }
  }

  #nameOf(value: object): Named | undefined {
    const id = this.#ids.get(value)
    if (id !== undefined) return marked('object', id)
    if (isValue(value)) return undefined
    throw new Error(`a ${value.constructor.name} of this process cannot be given to another`)
  }

  #named(value: Named): unknown {
    const { id, className } = value
    if (kindOf(value) === 'promise') return this.#settled(id)
    if (kindOf(value) === 'method') return method
    let proxy = this.#proxies.get(id)
    if (proxy === undefined) {
      proxy = this.#proxy(id, className)
      this.#proxies.set(id, proxy)
      this.#ids.set(proxy, id)
    }
    return proxy
  }

  async #settled(id: number): Promise<unknown> {
    for (;;) {
      const state = this.#ask({ op: 'settled', id }) as [unknown] | null
      if (state !== null) return state[0]
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }

  #proxy(id: number, className: string): object {
    const methods = new Map<string, unknown>()
    return new Proxy(
      {},
      {
        get: (_, key) => {
          const name = typeof key === 'symbol' ? symbolNames.get(key) : key
          // A promise that is fulfilled with it asks for that.
          if (name === undefined || name === 'then') return undefined
          const known = `${className}.${name}`
          if (this.#isMethod.get(known) !== true) {
            const value = this.#ask({ op: 'get', id, name })
            this.#isMethod.set(known, value === method)
            if (value !== method) return value
          }
          if (!methods.has(name)) methods.set(name, (...args: unknown[]) => this.#call(id, name, args))
          return methods.get(name)
        },
        set: (_, name, value) => {
          this.#ask({ op: 'set', id, name: String(name), value: encode(this.#codec, value) })
          return true
        },
        getPrototypeOf: () => prototypes[className] ?? Object.prototype,
      },
    )
  }

  #call(id: number, name: string, args: readonly unknown[]): unknown {
    const [wc, max] = args
    if (name === 'poll' && Array.isArray(wc) && wc.every((one) => one instanceof WorkCompletion))
      return this.#poll(id, wc, max as number | undefined)
    return this.#ask({ op: 'call', id, name, args: encode(this.#codec, args) as unknown[] })
  }

  #poll(id: number, wc: WorkCompletion[], max: number | undefined): number {
    const { n, taken } = this.#ask({ op: 'poll', id, count: wc.length, max }) as { n: number; taken: WorkCompletion[] }
    taken.forEach((one, i) => {
      Object.assign(wc[i]!, one)
    })
    return n
  }
}

/** Stands for every method. */
const method = (): never => {
  throw new Error('a method of another process is called through its object')
}
