/**
 * What the compliance suite stands on. A `ComplianceRig` is all that a device has to provide; a `Setup` is what one test
 * works with: contexts, pairs of queue pairs with the parameters of the conformance list, waiting for completions and
 * events. Whatever a test creates through its `Setup` is closed when the test ends, in reverse order, also when it fails.
 */
import { expect } from 'vitest'
import {
  Access,
  type AddressHandle,
  type AhAttr,
  type AsyncEvent,
  type CompletionChannel,
  type CompletionQueue,
  type ConnectOptions,
  type Context,
  connectQp,
  type EventType,
  EventType as EventTypes,
  endpointOf,
  nameOf,
  Opcode,
  type OpenOptions,
  type QpEndpoint,
  type QpType,
  QpType as QpTypes,
  VerbsError,
  type VerbsErrorCode,
  type WcOpcode,
  WcOpcode as WcOpcodes,
  WcStatus,
  type WorkCompletion,
  workCompletions,
} from '../../src/index.ts'
import { type GsiQueuePair, registerService, unregisterService } from '../../src/verbs/provider/index.ts'
import { defaults, End, type EndOptions, type Fields } from './end.ts'

export interface ComplianceRig {
  /** The two adapters, by the names that `openDevice` takes, also in another thread. They can reach each other. */
  names: readonly [string, string]
  options?: OpenOptions
  /** A new context of one of the adapters. */
  open(side: Side): Context
  /** How long, at most, anything takes that must happen, milliseconds. Generous: it decides only how late a test fails. */
  patienceMs: number
  /** How long to look at what must not happen, milliseconds. */
  quietMs: number
  /** Lets the device do what it can do now: a turn of the event loop, a step of simulated time. */
  settle(): void | Promise<void>
  /** Which GID of the adapters the tests use; 0 unless told. */
  gidIndex?: number
  /** What connections have unless a test says it, instead of the parameters of the list. */
  connect?: ConnectOptions
  /** The first PSNs; else they are random. */
  psn?(): number
  /** Every connection carries some messages before the test: a device that remembers things must notice what changes. */
  warmUp?: boolean
  /** Registers services for a queue pair of either side, where not both are in this process. */
  service?: ServiceCall
  /** Cases of the conformance list that this device cannot pass, by number or by title, with the reason. */
  skip?: Readonly<Record<number | string, string>>
}

/** `registerService` and `unregisterService`. */
export type ServiceCall = (name: 'register' | 'unregister', ...args: Parameters<typeof registerService>) => void

export const serviceHere: ServiceCall = (name, ...args) =>
  name === 'register' ? registerService(...args) : unregisterService(args[0], args[1], args[2])

export type Side = 0 | 1

/** How a group declares a test; the title starts with its number in the conformance list. */
export type Case = (title: string, body: (t: Setup) => void | Promise<void>) => void
export type Group = (it: Case) => void

/** A copy of a work completion, with names instead of numbers so that a failed expectation can be read. */
export interface Completion {
  wrId: number
  status: keyof typeof WcStatus
  opcode: keyof typeof WcOpcodes
  byteLen: number
  immData: number
  invalidatedRkey: number
  qpNum: number
  srcQp: number
  wcFlags: number
}

export function copyOf(wc: WorkCompletion): Completion {
  return {
    wrId: wc.wrId,
    status: nameOf(WcStatus, wc.status) as Completion['status'],
    opcode: nameOf(WcOpcodes, wc.opcode as WcOpcode) as Completion['opcode'],
    byteLen: wc.byteLen,
    immData: wc.immData,
    invalidatedRkey: wc.invalidatedRkey,
    qpNum: wc.qpNum,
    srcQp: wc.srcQp,
    wcFlags: wc.wcFlags,
  }
}

interface Closable {
  close(): unknown
}

export interface PairOptions extends EndOptions {
  /** What differs at one end. */
  a?: EndOptions
  b?: EndOptions
  connect?: ConnectOptions
}

/** One context of each adapter that tests share, because opening one may start threads. */
export class SharedContexts {
  readonly #rig: ComplianceRig
  #contexts: (Context | undefined)[] = []

  constructor(rig: ComplianceRig) {
    this.#rig = rig
  }

  get(side: Side): Context {
    this.#contexts[side] ??= this.#rig.open(side)
    return this.#contexts[side]
  }

  /** After a failed test: what it has left open is nobody's business any more. */
  forget(): void {
    this.#contexts = []
  }

  /** Takes the events that an earlier test did not look at. */
  drainEvents(): void {
    for (const context of this.#contexts) {
      for (let event = context?.pollAsyncEvent(); event; event = context?.pollAsyncEvent())
        context?.ackAsyncEvent(event)
    }
  }

  close(): void {
    for (const context of this.#contexts) context?.close()
  }
}

export class Setup {
  readonly rig: ComplianceRig
  readonly #shared: SharedContexts
  readonly #owned: Closable[] = []
  readonly #one = workCompletions(1)

  constructor(rig: ComplianceRig, shared: SharedContexts) {
    this.rig = rig
    this.#shared = shared
  }

  // --- objects -----------------------------------------------------------------------------------------------------

  /** The context of one adapter; other tests use it too. A test that closes contexts opens its own. */
  context(side: Side): Context {
    return this.#shared.get(side)
  }

  /** Memory of a context, freed at the end of the test. */
  alloc(context: Context, bytes: number): Uint8Array {
    const buffer = context.alloc(bytes)
    this.own({ close: () => context.free(buffer) })
    return buffer
  }

  /** Closes `object` at the end of the test. */
  own<T extends Closable>(object: T): T {
    this.#owned.push(object)
    return object
  }

  /** Closes `object` now. */
  close(object: Closable): void {
    object.close()
    this.disown(object)
  }

  disown(object: Closable): void {
    const at = this.#owned.indexOf(object)
    if (at >= 0) this.#owned.splice(at, 1)
  }

  /** Closes everything; throws the first error unless the test has failed anyway. */
  async dispose(failed: boolean): Promise<void> {
    let first: unknown
    for (const object of this.#owned.reverse()) {
      try {
        await object.close()
      } catch (error) {
        first ??= error
      }
    }
    if (first !== undefined && !failed) throw first
  }

  /** A queue pair with its own PD, CQs, buffer and region, in RESET. */
  end<T extends QpType>(side: Side, type: T, options: EndOptions = {}): End<T> {
    return new End(this, this.context(side), type, options)
  }

  /** Two of them, connected: the first on adapter 0, the second on adapter 1. */
  pair<T extends QpType>(type: T, options: PairOptions = {}): [End<T>, End<T>] {
    const { a: onlyA, b: onlyB, connect, ...both } = options
    const a = this.end(0, type, { ...both, ...onlyA })
    const b = this.end(1, type, { ...both, ...onlyB })
    this.connect(a, b, connect)
    if (this.rig.warmUp && type !== QpTypes.UD) {
      const access = connect?.accessFlags ?? defaults.connect.accessFlags!
      this.#warmUp(a, b, access)
      this.#warmUp(b, a, access)
    }
    return [a, b]
  }

  /** Some messages of zeros between buffers of zeros: afterwards everything is as before. */
  #warmUp(from: End, to: End, access: number): void {
    const operations: number[] = []
    if (!to.qp.srq && (to.mr.access & Access.LocalWrite) !== 0) operations.push(Opcode.Send)
    if ((to.mr.access & access & Access.RemoteWrite) !== 0) operations.push(Opcode.Write)
    for (let round = 0; round < 3; round++) {
      for (const opcode of operations) {
        const cqs = opcode === Opcode.Send ? [from.sendCq, to.recvCq] : [from.sendCq]
        if (opcode === Opcode.Send) to.recv()
        from.post(opcode, to)
        for (const cq of cqs) {
          const deadline = performance.now() + this.rig.patienceMs
          while (cq.poll(this.#one, 1) === 0) if (performance.now() > deadline) throw new Error('no completion')
          if (this.#one[0]!.status !== WcStatus.Success) throw new Error(this.#one[0]!.statusText)
        }
      }
    }
  }

  /** Brings both from RESET to RTS towards each other. */
  connect<T extends QpType>(a: End<T>, b: End<T>, options: ConnectOptions = {}): void {
    a.endpoint = this.endpoint(a)
    b.endpoint = this.endpoint(b)
    this.connectTo(a, b.endpoint, options)
    this.connectTo(b, a.endpoint, options)
  }

  connectTo(end: End, remote: QpEndpoint, options: ConnectOptions = {}): void {
    const isUd = end.qp.type === QpTypes.UD
    connectQp(end.qp, end.endpoint, isUd ? null : remote, { ...defaults.connect, ...this.rig.connect, ...options })
  }

  endpoint(end: End): QpEndpoint {
    const endpoint = endpointOf(end.qp, { gidIndex: this.rig.gidIndex ?? 0 })
    return this.rig.psn === undefined ? endpoint : { ...endpoint, psn: this.rig.psn() }
  }

  /** The address of an endpoint as an address handle or a QP takes it. */
  address(remote: QpEndpoint): AhAttr {
    const sgidIndex = this.rig.gidIndex ?? 0
    return { dlid: remote.lid, portNum: 1, grh: { dgid: remote.gid, sgidIndex, hopLimit: 64 } }
  }

  ah(from: End, to: End): AddressHandle {
    return this.own(from.pd.createAh(this.address(to.endpoint)))
  }

  /** REQs for the service go to `qp`, or to one of those that are registered in the same `group`. */
  register(qp: GsiQueuePair, serviceId: bigint, mask?: bigint, group?: number): void {
    ;(this.rig.service ?? serviceHere)('register', qp, serviceId, mask, group)
  }

  unregister(qp: GsiQueuePair, serviceId: bigint, mask?: bigint): void {
    ;(this.rig.service ?? serviceHere)('unregister', qp, serviceId, mask)
  }

  /** Both sides are one adapter, in two processes. */
  get oneAdapter(): boolean {
    return this.rig.names[0] === this.rig.names[1]
  }

  // --- waiting -----------------------------------------------------------------------------------------------------

  /** Lets the device, the event loop and other threads go on. */
  async turn(): Promise<void> {
    await this.rig.settle()
    await new Promise((resolve) => setImmediate(resolve))
  }

  /** Waits until `ready` gives something else than null, undefined or false. */
  async until<T>(what: string, ready: () => T | null | undefined | false): Promise<T> {
    const deadline = performance.now() + this.rig.patienceMs
    for (;;) {
      const value = ready()
      if (value !== null && value !== undefined && value !== false) return value
      if (performance.now() > deadline) throw new Error(`no ${what} within ${this.rig.patienceMs} ms`)
      await this.turn()
    }
  }

  async pollOne(cq: CompletionQueue): Promise<Completion> {
    return await this.until('completion', () => {
      const n = cq.poll(this.#one, 1)
      if (n < 0) throw new Error('the CQ is in error')
      return n === 1 && copyOf(this.#one[0]!)
    })
  }

  async poll(cq: CompletionQueue, count: number): Promise<Completion[]> {
    const all: Completion[] = []
    while (all.length < count) all.push(await this.pollOne(cq))
    return all
  }

  async expectCompletion(cq: CompletionQueue, expected: Partial<Completion>): Promise<Completion> {
    const completion = await this.pollOne(cq)
    expect(completion).toMatchObject(expected)
    return completion
  }

  /** The next completions, in order, as `[wrId, status]`. */
  async expectOrder(cq: CompletionQueue, expected: readonly [number, Completion['status']][]): Promise<void> {
    const all = await this.poll(cq, expected.length)
    expect(all.map(({ wrId, status }) => [wrId, status])).toEqual(expected)
  }

  /** For a while there is nothing to poll. */
  async expectQuiet(...cqs: CompletionQueue[]): Promise<void> {
    const deadline = performance.now() + this.rig.quietMs
    while (performance.now() < deadline) {
      for (const cq of cqs) {
        if (cq.poll(this.#one, 1) !== 0) expect.fail(`unexpected completion ${JSON.stringify(copyOf(this.#one[0]!))}`)
      }
      await this.turn()
    }
  }

  /** Posts one request at `from`, towards `to`, and gives its completion. */
  async run(from: End, opcode: number, to: End | null, fields: Fields = {}): Promise<Completion> {
    from.post(opcode, to, fields)
    return await this.pollOne(from.sendCq)
  }

  /** The next completion event of a channel, acknowledged. */
  async event(channel: CompletionChannel): Promise<CompletionQueue> {
    const cq = await this.until('completion event', () => channel.tryGetEvent())
    cq.ackEvents(1)
    return cq
  }

  /** For a while the channels give no event. */
  async expectNoEvent(...channels: CompletionChannel[]): Promise<void> {
    const deadline = performance.now() + this.rig.quietMs
    while (performance.now() < deadline) {
      for (const channel of channels) expectSame(channel.tryGetEvent(), null)
      await this.turn()
    }
  }

  /** The next asynchronous event of this type; others are passed over. */
  async asyncEvent(context: Context, type: EventType): Promise<AsyncEvent> {
    return await this.until(`event ${nameOf(EventTypes, type)}`, () => {
      const event = context.pollAsyncEvent()
      if (!event) return null
      context.ackAsyncEvent(event)
      return event.type === type && event
    })
  }

  /** How many events of this type are waiting, now that everything else has happened. */
  async countAsyncEvents(context: Context, type: EventType): Promise<number> {
    const deadline = performance.now() + this.rig.quietMs
    let count = 0
    while (performance.now() < deadline) {
      for (let event = context.pollAsyncEvent(); event; event = context.pollAsyncEvent()) {
        context.ackAsyncEvent(event)
        if (event.type === type) count++
      }
      await this.turn()
    }
    return count
  }
}

/** Expects a `VerbsError` with one of `codes` and gives it. */
export function expectThrow(codes: VerbsErrorCode | readonly VerbsErrorCode[], action: () => unknown): VerbsError {
  try {
    action()
  } catch (error) {
    if (!(error instanceof VerbsError)) throw error
    expect(typeof codes === 'string' ? [codes] : codes, error.message).toContain(error.code)
    return error
  }
  return expect.fail(`expected ${codes}, but nothing was thrown`)
}

/** The status of what was posted, or 'refused' if posting it threw a `VerbsError`, where a device may do either. */
export async function refusedOr(action: () => Promise<Completion>): Promise<Completion['status'] | 'refused'> {
  try {
    return (await action()).status
  } catch (error) {
    if (!(error instanceof VerbsError)) throw error
    expect(['EINVAL', 'EPERM', 'EOPNOTSUPP'], error.message).toContain(error.code)
    return 'refused'
  }
}

/** The same object. Handles are never given to the matchers of vitest: on failure those print all memory of the device. */
export function expectSame(actual: unknown, expected: unknown): void {
  if (!Object.is(actual, expected)) expect.fail(`expected the same object, got ${actual === null ? 'null' : 'another'}`)
}
