/**
 * The one-way latency benchmark: a sending and a receiving thread, one set of settings after the other.
 *
 *     main thread   plans the sets, has both threads prepare and connect, saves what they measured
 *     sender        stamps and posts messages, notes t_comp       latency-sender.ts
 *     receiver      notes t_recv                                  latency-receiver.ts
 *     stamper       with `stamp: send`, rewrites the stamps       latency-stamper.ts
 *
 * Each set is saved when it is done, so that an interrupted run keeps what it has measured.
 */
import { entryModule } from '../../memory/index.ts'
import {
  type LatencyResults,
  type LatencySet,
  latencies,
  NSEC_PER_SEC,
  summarize,
  writeTimestamps,
} from '../../report/index.ts'
import { beginResults, keepSets, type PlannedSet, plannedSets, type SavedRun } from '../bench-kit/index.ts'
import { Control, newControl, resetControl, Stop, stopText } from '../bench-thread/index.ts'
import { type Peer, Peers } from '../kit/index.ts'
import { type Prepared, type ReceiverReport, type SenderReport, type SetRequest, slotsOf } from './latency-set.ts'
import type { StampRequest } from './latency-stamper.ts'
import { type LatencySettings, maxBurst } from './settings.ts'
import { receiverStamps } from './stamps.ts'

export interface LatencyRun extends SavedRun<LatencySettings, LatencySet> {
  /** Number of messages before each burst that are not recorded. */
  warmup: number
  seed: number
  /** Command line, for the record. */
  command: string[]
  /** Called when both ends are connected and begin with this set. */
  onBegin?(settings: LatencySettings): void
}

/** Times by message number, nanoseconds from the second in which t_subm lies; NaN where there is none. */
export interface SetTimestamps {
  tSubm: Float64Array
  tRecv: Float64Array
  tComp: Float64Array
  /** Number of messages that arrived with a stamp from which the time of sending cannot be determined: they have no t_subm. */
  untimed: number
}

const threads = {
  sender: entryModule(import.meta.url, './latency-sender'),
  receiver: entryModule(import.meta.url, './latency-receiver'),
  stamper: entryModule(import.meta.url, './latency-stamper'),
}

const callTimeoutMs = 20_000
const primingRounds = 3
const primingPauseNs = 500

/** Measures all sets of the plan and saves them in `outDir`; the results record whether all succeeded (`complete`). */
export async function runLatency(run: LatencyRun): Promise<LatencyResults> {
  const results: LatencyResults = {
    ...beginResults(run.command, Math.max(0, ...run.plan.sets.map(({ settings }) => pollingThreads(settings)))),
    tool: 'latency',
    unit: 'ns',
    sets: [],
  }
  const threads = new LatencyThreads()
  const { plan, signal, onNote } = run
  return await keepSets(
    results,
    run,
    async (keep) => {
      await threads.prime(run)
      for (const planned of plannedSets(plan, signal)) {
        const { set, timestamps, hugePages, notes } = await threads.measure(planned, run)
        results.machine.permitted.hugePages = hugePages
        for (const note of notes) onNote?.(note)
        if (set.sent > 0 || !signal?.aborted) keep(set, (path) => writeTimestamps(path, timestamps))
      }
    },
    { interrupt: () => threads.stop(Stop.interrupted), end: () => threads.end() },
  )
}

/** Returns the number of threads that poll. The sender polls the clock between posts, whatever it waits for. */
function pollingThreads({ poll, engine, stamp }: LatencySettings): number {
  return 1 + (poll === 'busy' ? 1 : 0) + (engine === 'thread' ? 1 : 0) + (stamp === 'send' ? 1 : 0)
}

interface Measured {
  set: LatencySet
  timestamps: SetTimestamps
  hugePages: boolean
  /** Notes for the user. */
  notes: string[]
}

/** Threads of a run, kept from one set to the next so that their code stays compiled; replaced when one fails. */
class LatencyThreads {
  readonly #control = newControl()
  readonly #peers = new Peers()
  #interrupted = false

  /** Makes the threads leave their loops. */
  stop(why: number): void {
    if (why === Stop.interrupted) this.#interrupted = true
    Atomics.store(this.#control, Control.stop, why)
    Atomics.store(this.#control, Control.stamping, 0)
    Atomics.notify(this.#control, Control.stop)
  }

  async end(): Promise<void> {
    await this.#peers.terminate()
  }

  #peer(role: keyof typeof threads): Peer {
    return this.#peers.get(role, threads[role], { control: this.#control })
  }

  /**
   * Runs each kind of set a few times before the first recorded one: V8 compiles code only after tens of thousands of
   * messages, far more than a warm-up sends.
   */
  async prime({ plan, warmup, seed }: LatencyRun): Promise<void> {
    const messages = Math.min(maxBurst, 8 * warmup)
    const kinds = new Map<string, LatencySettings>()
    for (const { settings } of plan.sets) {
      const { service, op, poll, pollComp, engine } = settings
      kinds.set([service, op, poll, pollComp, engine].join(), {
        ...settings,
        size: 8,
        burst: messages,
        pause: primingPauseNs,
      })
    }
    for (let round = 0; round < primingRounds && messages > 0; round++) {
      for (const settings of kinds.values()) {
        if (this.#interrupted) return
        await this.measure({ id: '000', settings, repeat: 0 }, { warmup: messages, seed })
      }
    }
  }

  async measure(
    planned: PlannedSet<LatencySettings>,
    { warmup, seed, onBegin }: Pick<LatencyRun, 'warmup' | 'seed' | 'onBegin'>,
  ): Promise<Measured> {
    const { settings, id, repeat } = planned
    const request: SetRequest = { settings, warmup, seed, timeoutNs: timeoutNsOf(settings, warmup) }
    resetControl(this.#control)
    Atomics.store(this.#control, Control.stop, this.#interrupted ? Stop.interrupted : Stop.run)
    const sender = this.#peer('sender')
    const receiver = this.#peer('receiver')
    let sent: SenderReport | undefined
    let got: ReceiverReport | undefined
    let prepared: [Prepared, Prepared] | undefined
    let error: string | undefined
    try {
      prepared = await both(
        sender.call<Prepared>('prepare', request, callTimeoutMs),
        receiver.call<Prepared>('prepare', request, callTimeoutMs),
      )
      await both(
        sender.call('connect', prepared[1], callTimeoutMs),
        receiver.call('connect', prepared[0], callTimeoutMs),
      )
      onBegin?.(settings)
      ;[sent, got] = await this.#run(sender, receiver, request, prepared[0])
    } catch (failure) {
      error = (failure as Error).message
    }
    error ??= sent?.error ?? got?.error ?? stopText(this.#control[Control.stop]!)
    error ??= sent && sent.posted < settings.burst ? stopText(Stop.timeout) : undefined
    // A thread that cannot release its QPs and buffers is replaced before the next set.
    for (const peer of [sender, receiver]) await peer.close(callTimeoutMs)
    const timestamps = merge(sent, got, settings.stamp)
    const pinFailure = prepared?.[0].pinFailure || prepared?.[1].pinFailure
    const notes = [
      pinFailure ? `--pin ${settings.pin} was not possible: ${pinFailure}` : '',
      timestamps.untimed > 0
        ? `set ${id}: ${timestamps.untimed} messages have no latency: their stamp does not say in which second they left`
        : '',
    ].filter((note) => note !== '')
    return {
      set: summarizeSet(id, { ...settings, repeat }, timestamps, error),
      timestamps,
      hugePages: prepared?.every((end) => end.hugePages) ?? false,
      notes,
    }
  }

  /** Runs both ends until both have finished; when one fails, the other is stopped. */
  async #run(
    sender: Peer,
    receiver: Peer,
    request: SetRequest,
    prepared: Prepared,
  ): Promise<[SenderReport, ReceiverReport]> {
    const timeoutMs = (2 * request.timeoutNs) / 1e6 + 5000
    const stopOthers = (failure: unknown): never => {
      this.stop(Stop.timeout)
      throw failure
    }
    let stamping: Promise<unknown> = Promise.resolve()
    if (request.settings.stamp === 'send' && !receiverStamps(request.settings)) {
      Atomics.store(this.#control, Control.stamping, 1)
      stamping = this.#peer('stamper').call('stamp', this.#stampRequest(request, prepared), timeoutMs)
    }
    try {
      return await both(
        sender.call<SenderReport>('run', null, timeoutMs).catch(stopOthers),
        receiver.call<ReceiverReport>('run', null, timeoutMs).catch(stopOthers),
      )
    } finally {
      Atomics.store(this.#control, Control.stamping, 0)
      await stamping
    }
  }

  #stampRequest(request: SetRequest, { addr, strideBytes }: Prepared): StampRequest {
    const { device, pin } = request.settings
    const lengthBytes = slotsOf(request) * strideBytes
    return { device: device.split(',')[0]!, pin, addr, lengthBytes, strideBytes, timeoutNs: 2 * request.timeoutNs }
  }
}

/** Waits for both, also when one fails: neither may still run when the next step begins. */
async function both<A, B>(a: Promise<A>, b: Promise<B>): Promise<[A, B]> {
  const settled = await Promise.allSettled([a, b])
  for (const result of settled) if (result.status === 'rejected') throw result.reason
  return settled.map((result) => (result as PromiseFulfilledResult<unknown>).value) as [A, B]
}

/** Returns a generous bound for one phase, so that nothing hangs: the sum of the pauses, and a millisecond for each message. */
function timeoutNsOf(settings: LatencySettings, warmup: number): number {
  return 5e9 + Math.max(settings.burst, warmup) * (settings.pause + 1e6)
}

/**
 * Merges the records of the two ends, by message number. A message that did not arrive has no t_recv.
 *
 * The stamp in the payload is a `tv_nsec`; the sender knows in which second it posted the message. A stamp that another thread
 * rewrote (`stamp: send`) lies between then and the receipt; where that is a second or more, its second cannot be determined.
 */
export function merge(
  sent: SenderReport | undefined,
  got: ReceiverReport | undefined,
  stamp: LatencySettings['stamp'],
): SetTimestamps {
  const posted = sent?.posted ?? 0
  const tSubm = Float64Array.from(sent?.times ?? [])
  const tRecv = new Float64Array(posted).fill(Number.NaN)
  const tComp = Float64Array.from(sent?.comps ?? [])
  let untimed = 0
  for (let k = 0; k < (got?.received ?? 0); k++) {
    const number = got!.numbers[k]!
    if (number < 0 || number >= posted) continue
    const postedNs = sent!.times[number]!
    const left = timeOfStamp(got!.stamps[k]!, postedNs)
    const received = got!.times[k]!
    const known = stamp === 'submit' ? left === postedNs : left + NSEC_PER_SEC > received
    tRecv[number] = received
    if (known && left <= received) tSubm[number] = left
    else {
      tSubm[number] = Number.NaN
      untimed++
    }
  }
  for (let i = 0; i < posted; i++) {
    const second = secondOf(Number.isNaN(tSubm[i]!) ? sent!.times[i]! : tSubm[i]!)
    tSubm[i]! -= second
    tRecv[i]! -= second
    tComp[i]! -= second
    if (tComp[i]! < tSubm[i]!) tComp[i] = Number.NaN
  }
  return { tSubm, tRecv, tComp, untimed }
}

/** Returns the first time from `fromNs` on whose `tv_nsec` is `stamp`. */
function timeOfStamp(stamp: number, fromNs: number): number {
  const time = secondOf(fromNs) + stamp
  return time < fromNs ? time + NSEC_PER_SEC : time
}

function secondOf(ns: number): number {
  return Math.floor(ns / NSEC_PER_SEC) * NSEC_PER_SEC
}

/** Returns the saved form of one set. The few completions of unsignaled messages that drain the queue are not a sample. */
export function summarizeSet(
  id: string,
  settings: LatencySettings & { repeat: number },
  timestamps: SetTimestamps,
  error: string | undefined,
): LatencySet {
  const { tSubm, tRecv, tComp, untimed } = timestamps
  if (settings.unsignaled) tComp.fill(Number.NaN)
  const lat = summarize(latencies(tSubm, tRecv))
  const comp = settings.unsignaled ? null : summarize(latencies(tSubm, tComp))
  const set: LatencySet = {
    id,
    settings: { ...settings },
    lat,
    comp,
    sent: tSubm.length,
    lost: tSubm.length - lat.count - untimed,
  }
  if (untimed > 0) set.untimed = untimed
  if (error !== undefined) set.error = error
  return set
}
