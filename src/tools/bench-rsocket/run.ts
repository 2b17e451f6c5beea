/** The socket benchmark: TCP_RR and TCP_STREAM between a client's and a server's thread, over rsockets and TCP. */
import { entryModule, nativeAvailable } from '../../memory/index.ts'
import { type SocketResults, type SocketSet, summarize, writeRoundTrips } from '../../report/index.ts'
import { beginResults, keepSets, type PlannedSet, plannedSets, type SavedRun } from '../bench-kit/index.ts'
import { Control, newControl, resetControl, Stop } from '../bench-thread/index.ts'
import { type Peer, Peers } from '../kit/index.ts'
import { receiveBytes } from './loops.ts'
import { saveProfiles } from './profiles.ts'
import { type SocketSettings, savedSettings } from './settings.ts'
import type { EndPrepared, EndRequest, EndResult, EndRun } from './socket-end.ts'

export interface SocketRun extends SavedRun<SocketSettings, SocketSet> {
  /** Duration of each measurement, and of the warm-up before it. */
  seconds: number
  warmup: number
  /** Settings that are measured once more with a profiler; their figures are not in the sets. */
  profiles: SocketSettings[]
  command: string[]
  /** Called when both ends are connected and begin with this set. */
  onBegin?(settings: SocketSettings): void
}

/** Settings of a run that a single measurement needs. */
export type Timing = Pick<SocketRun, 'seconds' | 'warmup' | 'onBegin'>

const callTimeoutMs = 20_000
/** Number of round trips that are kept of one set. */
const timedRoundTrips = 100_000

export async function runSockets(run: SocketRun): Promise<SocketResults> {
  const results: SocketResults = {
    ...beginResults(run.command, run.plan.sets.some(({ settings }) => settings.poll === 'busy') ? 2 : 0),
    tool: 'rsocket',
    unit: 'bytes/s',
    sets: [],
    profiles: [],
  }
  const ends = new SocketEnds()
  const { plan, signal, onSet, onNote } = run
  if (!nativeAvailable && plan.sets.some(({ settings }) => settings.transport === 'tcp'))
    onNote?.('without the koffi package TCP goes through node:net, whose streams and event loop are measured, too')
  await keepSets(
    results,
    run,
    async (keep, save) => {
      for (const planned of plannedSets(plan, signal)) {
        const { set, client, note } = await ends.measure(planned, run, false)
        if (note) onNote?.(note)
        const times = client?.roundTripsNs ?? []
        if (set.messages > 0 || !signal?.aborted) keep(set, (path) => times.length > 0 && writeRoundTrips(path, times))
      }
      for (const [i, settings] of run.profiles.entries()) {
        if (signal?.aborted) break
        // For code that was compiled earlier, the profiler does not know which functions were inlined where.
        await ends.end()
        const id = String(plan.sets.length + i + 1).padStart(3, '0')
        const { set, client, server } = await ends.measure({ id, settings, repeat: 1 }, run, true)
        if (set.error !== undefined) onNote?.(`profile ${id}: ${set.error}`)
        results.profiles.push(...saveProfiles(run.outDir, set, client, server))
        save()
        onSet?.(set, results.sets.length + i + 1)
      }
    },
    { interrupt: () => ends.interrupt(), end: () => ends.end(), isWhole: () => !signal?.aborted },
  )
  return results
}

export interface Measured {
  set: SocketSet
  client?: EndResult
  server?: EndResult
  note?: string
}

/** Threads of both ends, for one measurement after the other. */
export class SocketEnds {
  readonly #control = newControl()
  /** Threads by transport, so that neither runs code that was optimised for the other. */
  readonly #peers = new Peers()
  #interrupted = false

  interrupt(): void {
    this.#interrupted = true
    Atomics.store(this.#control, Control.stop, Stop.interrupted)
  }

  async end(): Promise<void> {
    await this.#peers.terminate()
  }

  #peer(transport: string, role: 'client' | 'server'): Peer {
    return this.#peers.get(`${transport} ${role}`, entryModule(import.meta.url, './socket-end'), {
      control: this.#control,
    })
  }

  async measure(planned: PlannedSet<SocketSettings>, run: Timing, profile: boolean): Promise<Measured> {
    const { settings, repeat } = planned
    resetControl(this.#control)
    Atomics.store(this.#control, Control.stop, this.#interrupted ? Stop.interrupted : Stop.run)
    const peers = [this.#peer(settings.transport, 'client'), this.#peer(settings.transport, 'server')] as const
    const measured: Measured = { set: emptySet(planned.id, settings, profile ? null : repeat) }
    try {
      const [a, b] = await Promise.all([
        peers[0].call<EndPrepared>('prepare', requestOf(settings, false), callTimeoutMs),
        peers[1].call<EndPrepared>('prepare', requestOf(settings, true), callTimeoutMs),
      ])
      const pinFailure = a.pinFailure || b.pinFailure
      if (pinFailure) measured.note = `--pin ${settings.pin} was not possible: ${pinFailure}`
      await Promise.all([
        peers[0].call('connect', b.meeting, callTimeoutMs),
        peers[1].call('connect', a.meeting, callTimeoutMs),
      ])
      run.onBegin?.(settings)
      const [client, server] = await this.#run(peers, settings, run, profile)
      fill(measured.set, client, server)
      measured.client = client
      measured.server = server
    } catch (failure) {
      measured.set.error = (failure as Error).message
    }
    await Promise.all(peers.map((peer) => peer.close(callTimeoutMs)))
    return measured
  }

  /** Runs both ends; one that fails stops the other. */
  async #run(
    [client, server]: readonly [Peer, Peer],
    settings: SocketSettings,
    run: Timing,
    profile: boolean,
  ): Promise<[EndResult, EndResult]> {
    const { test, size } = settings
    const timeoutMs = (run.warmup + 2 * run.seconds) * 1000 + 30_000
    const call = (peer: Peer, isClient: boolean): Promise<EndResult> => {
      const request: EndRun = {
        test,
        client: isClient,
        sizeBytes: size,
        warmupNs: run.warmup * 1e9,
        durationNs: run.seconds * 1e9,
        timed: profile ? 0 : timedRoundTrips,
        profile,
      }
      return peer.call<EndResult>('run', request, timeoutMs).catch((failure) => {
        Atomics.store(this.#control, Control.stop, Stop.timeout)
        throw failure
      })
    }
    const [measured, served] = await Promise.allSettled([call(client, true), call(server, false)])
    if (measured.status === 'rejected') throw measured.reason
    if (served.status === 'rejected') throw served.reason
    return [measured.value, served.value]
  }
}

function requestOf(settings: SocketSettings, server: boolean): EndRequest {
  const { transport, device, poll, test, buffer, extensions, direct, size, pin } = settings
  return {
    transport,
    server,
    device: device === '' ? '' : device.split(',')[server ? 1 : 0]!,
    busy: poll === 'busy',
    noDelay: test === 'rr',
    bufferBytes: buffer,
    version1: !extensions,
    direct,
    memoryBytes: Math.max(size, receiveBytes),
    pin,
  }
}

function emptySet(id: string, settings: SocketSettings, repeat: number | null): SocketSet {
  return {
    id,
    settings: { ...savedSettings(settings), ...(repeat === null ? {} : { repeat }) },
    via: settings.transport === 'rsocket' ? 'verbs' : nativeAvailable ? 'system calls' : 'node:net',
    messages: 0,
    seconds: 0,
    messagesPerSecond: 0,
    bytesPerSecond: 0,
    roundTrip: null,
    cpu: { client: null, server: null, process: null },
    counters: { client: {}, server: {} },
  }
}

function fill(set: SocketSet, client: EndResult, server: EndResult): void {
  const { messages, seconds } = client
  const known = (share: number): number | null => (Number.isNaN(share) ? null : share)
  set.messages = messages
  set.seconds = seconds
  set.messagesPerSecond = seconds > 0 ? messages / seconds : 0
  set.bytesPerSecond = set.messagesPerSecond * Number(set.settings.size)
  if (client.roundTripsNs.length > 0) set.roundTrip = summarize(client.roundTripsNs)
  set.cpu = { client: known(client.cpu.thread), server: known(server.cpu.thread), process: known(client.cpu.process) }
  set.counters = { client: client.counters, server: server.counters }
  const error = client.error ?? server.error
  if (error !== undefined) set.error = error
  else if (client.bytesSent !== server.bytesReceived || server.bytesSent !== client.bytesReceived)
    set.error = `${client.bytesSent} bytes were sent and ${server.bytesReceived} received; back ${server.bytesSent} and ${client.bytesReceived}`
}
