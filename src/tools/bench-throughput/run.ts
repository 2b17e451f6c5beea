/**
 * The throughput benchmark: the tutorial's echo between a client's and a server's thread, for each technique and
 * number of concurrent messages. A message counts when it is back at the client; rates are those of one direction.
 */
import { entryModule } from '../../memory/index.ts'
import type { ThroughputResults, ThroughputSet } from '../../report/index.ts'
import { beginResults, keepSets, type PlannedSet, plannedSets, type SavedRun } from '../bench-kit/index.ts'
import { Control, newControl, resetControl, Stop, stopText } from '../bench-thread/index.ts'
import { type Peer, Peers } from '../kit/index.ts'
import type { EchoResult, EchoTarget } from './echo.ts'
import { type ThroughputSettings, usesManyQps } from './settings.ts'
import type { EndPrepared } from './throughput-end.ts'

export interface ThroughputRun extends SavedRun<ThroughputSettings, ThroughputSet> {
  /** Duration of each measurement; a number of messages may end it earlier. */
  seconds: number
  messages: number
  warmup: number
  command: string[]
  /** Called when both ends are connected and begin with this set. */
  onBegin?(settings: ThroughputSettings): void
}

const callTimeoutMs = 20_000

export async function runThroughput(run: ThroughputRun): Promise<ThroughputResults> {
  const results: ThroughputResults = {
    // Both ends, and the engine thread of each.
    ...beginResults(
      run.command,
      Math.max(0, ...run.plan.sets.map(({ settings }) => (settings.engine === 'thread' ? 4 : 2))),
    ),
    tool: 'throughput',
    unit: 'messages/s',
    sets: [],
  }
  const ends = new EchoEnds()
  const { plan, signal, onBegin, onNote } = run
  const target: EchoTarget = { warmup: run.warmup, messages: run.messages, durationNs: run.seconds * 1e9 }
  return await keepSets(
    results,
    run,
    async (keep) => {
      for (const planned of plannedSets(plan, signal)) {
        const { set, note } = await ends.measure(planned, target, onBegin)
        if (note) onNote?.(note)
        if (set.messages > 0 || !signal?.aborted) keep(set)
      }
    },
    { interrupt: () => ends.interrupt(), end: () => ends.end() },
  )
}

class EchoEnds {
  readonly #control = newControl()
  readonly #peers = new Peers()
  #interrupted = false

  interrupt(): void {
    this.#interrupted = true
    Atomics.store(this.#control, Control.stop, Stop.interrupted)
  }

  async end(): Promise<void> {
    await this.#peers.terminate()
  }

  #peer(role: 'client' | 'server'): Peer {
    return this.#peers.get(role, entryModule(import.meta.url, './throughput-end'), { control: this.#control, role })
  }

  async measure(
    planned: PlannedSet<ThroughputSettings>,
    target: EchoTarget,
    onBegin: ThroughputRun['onBegin'],
  ): Promise<{ set: ThroughputSet; note?: string }> {
    const { settings, id, repeat } = planned
    resetControl(this.#control)
    Atomics.store(this.#control, Control.stop, this.#interrupted ? Stop.interrupted : Stop.run)
    const client = this.#peer('client')
    const server = this.#peer('server')
    let result: EchoResult = { messages: 0, seconds: 0 }
    let error: string | undefined
    let note: string | undefined
    try {
      const [a, b] = await Promise.all([
        client.call<EndPrepared>('prepare', settings, callTimeoutMs),
        server.call<EndPrepared>('prepare', settings, callTimeoutMs),
      ])
      const pinFailure = a.pinFailure || b.pinFailure
      if (pinFailure) note = `--pin ${settings.pin} was not possible: ${pinFailure}`
      await Promise.all([client.call('connect', b, callTimeoutMs), server.call('connect', a, callTimeoutMs)])
      onBegin?.(settings)
      result = await this.#run(client, server, target)
      error = result.error ?? stopText(this.#control[Control.stop]!)
    } catch (failure) {
      error = (failure as Error).message
    }
    await Promise.all([client, server].map((peer) => peer.close(callTimeoutMs)))
    return { set: setOf(id, { ...settings, repeat }, result, error), ...(note ? { note } : {}) }
  }

  /** Runs both ends. The client decides when the run is over; a server that failed earlier ends the client. */
  async #run(client: Peer, server: Peer, target: EchoTarget): Promise<EchoResult> {
    const timeoutMs = target.durationNs / 1e6 + 30_000
    const serving = server.call<EchoResult>('run', target, timeoutMs).then(
      (result) => {
        if (result.error) Atomics.store(this.#control, Control.stop, Stop.timeout)
        return result
      },
      (failure) => {
        Atomics.store(this.#control, Control.stop, Stop.timeout)
        throw failure
      },
    )
    const [measured, served] = await Promise.allSettled([client.call<EchoResult>('run', target, timeoutMs), serving])
    if (served.status === 'rejected') throw served.reason
    if (measured.status === 'rejected') throw measured.reason
    const error = served.value.error ? `server: ${served.value.error}` : measured.value.error
    return error ? { ...measured.value, error } : measured.value
  }
}

function setOf(
  id: string,
  settings: ThroughputSettings & { repeat: number },
  result: EchoResult,
  error: string | undefined,
): ThroughputSet {
  const { messages, seconds } = result
  const messagesPerSecond = seconds > 0 ? messages / seconds : 0
  const { qps, ...others } = settings
  const set: ThroughputSet = {
    id,
    settings: usesManyQps(settings.technique) ? { ...others, qps } : others,
    messages,
    seconds,
    messagesPerSecond,
    bytesPerSecond: messagesPerSecond * settings.size,
  }
  if (error !== undefined) set.error = error
  return set
}
