/**
 * `rping`: a client's buffer is read by its server with RDMA READ and written back with RDMA WRITE, again and again
 * (`rping-message.ts` has the exchange). Defaults, limits and output are those of rdma-core's program.
 */

import { type CmEvent, CmEventType, type CmId, Opcode, PortSpace } from '../../index.ts'
import { isOwnAddress } from '../../memory/index.ts'
import {
  addressText,
  type CommonResult,
  type CommonSettings,
  connect,
  eventError,
  failureOf,
  type Output,
  peerText,
  type RunOptions,
  Station,
} from '../cm-kit/index.ts'
import { EndError, hostAddress, pinApart, unpin } from '../kit/index.ts'
import { RpingEnd } from './end.ts'
import { fillPing, pingText, type RpingInfo, textLength } from './message.ts'

export const rpingPort = 7174

export interface RpingSettings extends CommonSettings {
  role: 'client' | 'server'
  /** Address of the server; a server without one listens on all addresses. */
  address?: string | undefined
  /** Own address of the client. */
  source?: string | undefined
  port: number
  /** Bytes of the buffer, 26 to 65535. */
  size: number
  /** Number of pings; 0: until it is interrupted. */
  count: number
  verbose: boolean
  validate: boolean
  debug: boolean
  /** True if the server continues when a client has left. */
  persistent: boolean
  /** True if the program creates and moves the queue pair, and not the RDMA CM. */
  selfMadeQp: boolean
}

export interface RpingConnection {
  local: string
  peer: string
  pings: number
  seconds: number
  usecPerPing: number
  failure?: CommonResult['failure']
}

export interface RpingResult extends CommonResult {
  tool: 'rping'
  size: number
  /** Connections: one, except for a server with -P. */
  connections: RpingConnection[]
}

/** Number of a state of the original, which its messages show. */
const disconnectedState = 10

interface Run {
  settings: RpingSettings
  station: Station
  output: Output
  debug(text: string): void
}

export async function runRping(settings: RpingSettings, { output, signal }: RunOptions): Promise<RpingResult> {
  const debug = (text: string): void => {
    if (settings.debug) output.line(text)
  }
  const onEvent = (event: CmEvent): void => {
    debug(`cma_event type ${event.name} (${event.listenId === undefined ? 'connection' : 'request'})`)
    if (event.type === CmEventType.Disconnected) output.error(`${settings.role} DISCONNECT EVENT...`)
  }
  const station = new Station({ device: settings.device, stallMs: settings.stallMs, signal, onEvent })
  const { role, size } = settings
  const result: RpingResult = { tool: 'rping', role, device: '', counters: {}, size, connections: [] }
  const run = { settings, station, output, debug }
  try {
    if (settings.role === 'client') await client(run, result)
    else await server(run, result)
  } catch (error) {
    result.failure = failureOf(error)
  } finally {
    result.counters = station.counters()
    station.close()
    unpin()
  }
  return result
}

/** Connection parameters of both ends. */
const connParam = { responderResources: 1, initiatorDepth: 1, flowControl: false, retryCount: 7, rnrRetryCount: 7 }

// --- the client ------------------------------------------------------------------------------------------------------

async function client(run: Run, result: RpingResult): Promise<void> {
  const { settings, station, debug } = run
  const { size, selfMadeQp, port, waitMs } = settings
  const { id, made: end } = await connect(station, {
    portSpace: PortSpace.Tcp,
    destination: { address: await hostAddress(settings.address!), port },
    source: settings.source === undefined ? undefined : { address: await hostAddress(settings.source) },
    waitMs,
    prepare: (id) => new RpingEnd(station, id, size, selfMadeQp),
    param: ({ qp }) => ({ ...connParam, ...(selfMadeQp ? { qpNum: qp.qpNum } : {}) }),
  })
  try {
    if (selfMadeQp) {
      end.ready()
      id.establish()
      // `establish` generates no event.
      while (station.take(id) !== undefined);
    }
    debug(`connected to ${peerText(id)}`)
    result.device = id.verbs!.name
    const connection = begin(id, result)
    const start = performance.now()
    try {
      await ping(run, end, connection)
    } finally {
      finish(connection, start)
      await disconnect(run, end)
    }
  } finally {
    end.close()
    id.close()
  }
}

async function ping(run: Run, end: RpingEnd, connection: RpingConnection): Promise<void> {
  const { count, validate, verbose } = run.settings
  for (let i = 0; count === 0 || i < count; i++) {
    fillPing(end.source, i)
    if (!(await ask(run, end, 'source', 'the server to read'))) throw gone(end)
    if (!(await ask(run, end, 'sink', 'the server to write'))) throw gone(end)
    if (validate && Buffer.compare(end.source, end.sink) !== 0)
      throw new EndError('DATA', `data mismatch! What came back in ping ${i} is not what was sent`)
    connection.pings++
    if (verbose) run.output.line(`ping data: ${pingText(end.sink)}`)
  }
}

async function ask({ debug }: Run, end: RpingEnd, buffer: 'source' | 'sink', what: string): Promise<boolean> {
  const { addr, rkey, size } = end.tell(buffer)
  debug(`RDMA addr ${addr.toString(16)} rkey ${rkey.toString(16)} len ${size}`)
  return (await end.message(what)) !== undefined
}

function gone(end: RpingEnd): EndError {
  return new EndError('PEER_GONE', `${peerText(end.id)} ended the connection`)
}

// --- the server ------------------------------------------------------------------------------------------------------

async function server(run: Run, result: RpingResult): Promise<void> {
  const { settings, station, output, debug } = run
  const listener = station.channel.createId(PortSpace.Tcp)
  listener.bindAddr({ ...(await bindAddress(settings.address)), port: settings.port })
  listener.listen(3)
  result.device = listener.verbs?.name ?? 'roce'
  debug(`listening on ${addressText(listener.localAddress)}`)
  if (!settings.persistent) {
    const { id } = await station.request()
    await serve(run, id, result)
    return
  }
  const serving = new Set<Promise<void>>()
  try {
    for (;;) {
      const { id } = await station.request()
      const one = serve(run, id, result)
        .catch((error: unknown) => {
          if (!(error instanceof EndError)) throw error
          if (error.code !== 'INTERRUPTED') output.error(`rping: ${error.message}`)
        })
        .finally(() => serving.delete(one))
      serving.add(one)
    }
  } finally {
    await Promise.allSettled(serving)
  }
}

/** Serves one client, from its request to its end. */
async function serve(run: Run, id: CmId, result: RpingResult): Promise<void> {
  const { settings, station } = run
  const { size, selfMadeQp } = settings
  const connection = begin(id, result)
  const start = performance.now()
  try {
    const end = new RpingEnd(station, id, size, selfMadeQp)
    try {
      end.ready()
      id.accept(selfMadeQp ? { ...connParam, qpNum: end.qp.qpNum } : {})
      await established(station, id, end)
      try {
        await echo(run, end, connection)
      } finally {
        finish(connection, start)
        await disconnect(run, end)
      }
    } finally {
      end.close()
    }
  } catch (error) {
    connection.failure = failureOf(error)
    throw error
  } finally {
    id.close()
  }
}

/** Waits until the client is connected, as indicated by its RTU, which may be lost, or by its data. */
async function established(station: Station, id: CmId, end: RpingEnd): Promise<void> {
  await station.until('the client to be ready', () => station.has(id) || end.heard)
  if (!station.has(id)) id.notifyEstablished()
  await station.event(id, CmEventType.Established)
}

async function echo(run: Run, end: RpingEnd, connection: RpingConnection): Promise<void> {
  const { output, debug, settings } = run
  const over = (wanted: string): void => output.error(`wait for ${wanted} state ${disconnectedState}`)
  for (;;) {
    // The time between two pings of a client is not limited.
    const source = await end.message('a ping', 0)
    if (source === undefined) return over('RDMA_READ_ADV')
    debug(`Received rkey ${source.rkey.toString(16)} addr ${source.addr.toString(16)} len ${source.size} from peer`)
    checkInfo(source, end)
    if (!(await end.rdma(Opcode.Read, source, source.size))) return over('RDMA_READ_COMPLETE')
    if (settings.verbose) output.line(`server ping data: ${pingText(end.sink)}`)
    end.goAhead()
    const sink = await end.message('the address to write to')
    if (sink === undefined) return over('RDMA_WRITE_ADV')
    debug(`Received rkey ${sink.rkey.toString(16)} addr ${sink.addr.toString(16)} len ${sink.size} from peer`)
    checkInfo(sink, end)
    const length = Math.min(end.sink.length, textLength(end.sink.subarray(0, source.size)) + 1)
    if (!(await end.rdma(Opcode.Write, sink, length))) return over('RDMA_WRITE_COMPLETE')
    connection.pings++
    end.goAhead()
  }
}

function checkInfo({ addr, size }: RpingInfo, end: RpingEnd): void {
  if (size > end.sink.length)
    throw new EndError(
      'PEER_TEXT',
      `the client has a buffer of ${size} bytes, and this server one of ${end.sink.length}: give both the same -S`,
    )
  if (addr > Number.MAX_SAFE_INTEGER - size)
    throw new EndError('PEER_TEXT', 'the client sent an address that no memory has: is it another program?')
}

// --- both ------------------------------------------------------------------------------------------------------------

async function bindAddress(address: string | undefined): Promise<{ address?: string }> {
  return address === undefined ? {} : { address: await hostAddress(address) }
}

function begin(id: CmId, result: RpingResult): RpingConnection {
  const peer = id.peerAddress
  const connection: RpingConnection = {
    local: addressText(id.localAddress),
    peer: peer === undefined ? '' : addressText(peer),
    pings: 0,
    seconds: 0,
    usecPerPing: 0,
  }
  result.connections.push(connection)
  // On one core, polling for each other takes a time slice each.
  if (peer !== undefined && isOwnAddress(peer.address)) pinApart(result.role)
  return connection
}

function finish(connection: RpingConnection, startMs: number): void {
  connection.seconds = (performance.now() - startMs) / 1000
  connection.usecPerPing = connection.pings === 0 ? 0 : (connection.seconds * 1e6) / connection.pings
}

/** Milliseconds of waiting for the peer's disconnect; after that the connection is closed without it. */
const disconnectMs = 2000

/** Disconnects and waits for the peer to disconnect. */
async function disconnect({ station }: Run, end: RpingEnd): Promise<void> {
  const { id } = end
  end.disconnect()
  const deadline = performance.now() + disconnectMs
  const timer = setTimeout(() => station.wake(), disconnectMs)
  try {
    await station.until(
      'the end of the connection',
      () => {
        for (let event = station.take(id); event !== undefined; event = station.take(id))
          if (eventError(event) !== undefined) return true
        return performance.now() >= deadline
      },
      0,
    )
  } catch (error) {
    if (!(error instanceof EndError) || error.code !== 'INTERRUPTED') throw error
  } finally {
    clearTimeout(timer)
  }
}
