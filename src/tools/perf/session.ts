/**
 * One end of `verbena perf`: it connects to the other over TCP, agrees with it on settings, and has its data thread measure
 * one size after the other. Both ends get the reports of both.
 */
import { entryModule } from '../../memory/index.ts'
import {
  apart,
  callThread,
  connectTo,
  EndError,
  gidFromHex,
  gidText,
  listenOnce,
  Peer,
  UsageError,
  type Wire,
} from '../kit/index.ts'
import type { Opened, OpenRequest, PrepareRequest } from './data-end.ts'
import { type EndReport, expect, type Prepared, protocolVersion, receive, say } from './protocol.ts'
import { disagreement, type EndSettings, type PerfSettings, primingOf } from './settings.ts'
import { Control, newControl, resetControl, Stop, storePeerSent } from './state.ts'

export interface PerfRun {
  /** Settings of the test: all of them at the client; at the server those that were given explicitly. */
  settings: PerfSettings
  given: Partial<PerfSettings>
  end: EndSettings
  version: string
  signal?: AbortSignal
  onListening?(): void
  /** Called when both ends have agreed. */
  onBegin?(session: PerfSession): void
  onSize?(measured: Measured): void
}

export interface PortShown {
  device: string
  lid: number
  gid: string
  gidIndex: number
}

export interface PerfSession {
  role: 'client' | 'server'
  settings: PerfSettings
  /** Bytes of the MTU that both ports support. */
  mtu: number
  local: PortShown
  peer: string
}

/** Results of both ends with messages of one size. */
export interface Measured {
  /** Bytes of a message. */
  size: number
  client: EndReport
  server: EndReport
}

export interface PerfResults extends PerfSession {
  runs: Measured[]
  /** Reason why the run ended early, if it did. */
  error?: string
}

const callMs = 30_000
const answerMs = 30_000
const forever = Number.POSITIVE_INFINITY

export async function runPerf(run: PerfRun): Promise<PerfResults> {
  const client = run.end.host !== undefined
  const control = newControl()
  const thread = new Peer('data', entryModule(import.meta.url, './data-end'), { control })
  let wire: Wire | null = null
  try {
    const opened = await callThread<Opened>(thread, 'open', { end: run.end, client } satisfies OpenRequest, callMs)
    wire = await meet(run)
    const agreed = client ? await hello(wire, run, opened) : await welcome(wire, run, opened)
    const session: PerfSession = {
      role: client ? 'client' : 'server',
      settings: agreed.settings,
      mtu: agreed.mtu,
      local: {
        device: opened.device,
        lid: opened.lid,
        gid: gidText(gidFromHex(opened.gid)!),
        gidIndex: opened.gidIndex,
      },
      peer: wire.peer,
    }
    run.onBegin?.(session)
    const results: PerfResults = { ...session, runs: [] }
    const { settings } = agreed
    const rounds = [
      ...primingOf(settings).map((priming) => ({ settings: priming, size: priming.sizes[0]!, isShown: false })),
      ...settings.sizes.map((size) => ({ settings, size, isShown: true })),
    ]
    for (const { isShown, ...round } of rounds) {
      const measured = await measure(thread, wire, control, { run, mtu: agreed.mtu, client, ...round })
      const error = measured.client.error ?? measured.server.error
      if (!isShown && error === undefined) continue
      results.runs.push(measured)
      run.onSize?.(measured)
      if (error !== undefined) {
        results.error = error
        break
      }
    }
    await callThread(thread, 'shut', null, callMs)
    return results
  } catch (error) {
    if (wire && !wire.ended && !(error instanceof EndError && error.code === 'PEER_FAILED'))
      await say(wire, { type: 'error', message: (error as Error).message.slice(0, 2000) }).catch(() => {})
    throw error
  } finally {
    wire?.close()
    await thread.terminate()
  }
}

async function meet({ end, signal, onListening }: PerfRun): Promise<Wire> {
  const options = { ...(signal ? { signal } : {}), ...(end.source === undefined ? {} : { source: end.source }) }
  if (end.host !== undefined) return await connectTo(end.host, end.port, { ...options, waitMs: end.waitMs })
  return await listenOnce(end.port, { ...options, ...(onListening ? { onListening } : {}) })
}

interface Agreed {
  settings: PerfSettings
  mtu: number
}

async function hello(wire: Wire, run: PerfRun, { activeMtu, maxInlineData, device }: Opened): Promise<Agreed> {
  const settings = { ...run.settings, inlineSize: Math.min(run.settings.inlineSize, maxInlineData) }
  await say(wire, { type: 'hello', protocol: protocolVersion, verbena: run.version, activeMtu, device, settings })
  const answer = await expect(wire, 'welcome', answerMs)
  return agree(settings, activeMtu, answer.activeMtu)
}

async function welcome(wire: Wire, run: PerfRun, { activeMtu, device }: Opened): Promise<Agreed> {
  const asked = await expect(wire, 'hello', answerMs)
  if (asked.protocol !== protocolVersion)
    throw new EndError(
      'PEER_TEXT',
      `the ends speak different versions of the protocol: Verbena ${asked.verbena} at the client, ${run.version} at the server`,
    )
  checkReach(device, asked.device)
  const wrong = disagreement(run.given, asked.settings)
  if (wrong !== null) throw new UsageError('the ends disagree', wrong)
  const agreed = agree(asked.settings, activeMtu, asked.activeMtu)
  await say(wire, { type: 'welcome', protocol: protocolVersion, verbena: run.version, activeMtu, device })
  return agreed
}

function checkReach(here: string, there: string | undefined): void {
  const why = there === undefined ? undefined : apart(here, there)
  if (why !== undefined) throw new UsageError('-d', why)
}

function agree(settings: PerfSettings, here: number, there: number): Agreed {
  const most = Math.min(here, there)
  const mtu = settings.mtu === 0 ? most : settings.mtu
  if (mtu > most) throw new UsageError('-m', `${mtu} is more than the active MTU of both ports: at most ${most}`)
  if (settings.connection !== 'UD') return { settings, mtu }
  const sizes = settings.sizes.filter((size) => size <= mtu)
  if (sizes.length === 0) throw new UsageError('-s', `a UD message is one packet, at most the MTU of ${mtu} bytes`)
  return { settings: { ...settings, sizes }, mtu }
}

interface Round {
  run: PerfRun
  settings: PerfSettings
  mtu: number
  size: number
  client: boolean
}

async function measure(thread: Peer, wire: Wire, control: Int32Array, round: Round): Promise<Measured> {
  const { settings, mtu } = round
  resetControl(control)
  const request: PrepareRequest = { settings, size: round.size, mtu, sameHost: wire.sameHost }
  const mine = await callThread<Prepared>(thread, 'prepare', request, callMs)
  await say(wire, { type: 'prepared', ...mine })
  const theirs = await expect(wire, 'prepared', answerMs)
  await callThread(thread, 'connect', theirs, callMs)
  await say(wire, { type: 'ready' })
  await expect(wire, 'ready', answerMs)

  thread.onNotice = (value) => {
    const { sent } = value as { sent: number }
    // If this fails, the end of the connection is detected below.
    say(wire, { type: 'sent', messages: sent }).catch(() => {})
  }
  const stop = (why: number) => () => {
    Atomics.compareExchange(control, Control.stop, Stop.run, why)
    Atomics.notify(control, Control.stop)
  }
  const interrupted = stop(Stop.interrupted)
  round.run.signal?.addEventListener('abort', interrupted)
  if (round.run.signal?.aborted) interrupted()
  const forgetEnd = wire.onEnd(stop(Stop.peerGone))
  const listening = listen(wire, control).catch((error: unknown) => {
    stop(error instanceof EndError && error.code === 'PEER_FAILED' ? Stop.peerFailed : Stop.peerGone)()
    return error as Error
  })
  const report = await callThread<EndReport>(thread, 'run', null, forever)
  round.run.signal?.removeEventListener('abort', interrupted)
  forgetEnd()
  const { samples: _kept, ...told } = report
  if (!wire.ended) await say(wire, { type: 'done', report: told })
  const received = await listening
  thread.onNotice = null
  await callThread(thread, 'close', null, callMs)
  if (received instanceof Error) {
    // An error that this end has detected itself is more specific than the loss of the peer.
    if (report.error !== undefined && Atomics.load(control, Control.stop) === Stop.run)
      throw new EndError('WC_STATUS', report.error)
    throw received
  }
  return round.client
    ? { size: round.size, client: report, server: received }
    : { size: round.size, client: received, server: report }
}

/** Handles the messages of the peer during a measurement; ends with its report. */
async function listen(wire: Wire, control: Int32Array): Promise<EndReport> {
  for (;;) {
    const received = await receive(wire, forever, 'its results')
    if (received.type === 'sent') storePeerSent(control, received.messages)
    else if (received.type === 'done') {
      // No more messages will arrive from it.
      if (received.report.error !== undefined) Atomics.compareExchange(control, Control.stop, Stop.run, Stop.peerFailed)
      return received.report
    } else throw new EndError('PEER_TEXT', `the peer said '${received.type}' during a measurement`)
  }
}
