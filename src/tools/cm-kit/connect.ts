/** The client's path from an address to a connection, retried while no server listens yet. */
import {
  type CmAddress,
  type CmEvent,
  CmEventType,
  type CmId,
  type ConnParam,
  type PortSpace,
  type QpType,
} from '../../index.ts'
import { CmFailure } from './failures.ts'
import type { Station } from './station.ts'

export interface ConnectRequest<T extends { close(): void }> {
  portSpace: PortSpace
  qpType?: QpType
  destination: CmAddress
  source?: CmAddress | undefined
  waitMs: number
  /** Creates the program's objects for the connection, its queue pair among them; the id has its route by then. */
  prepare(id: CmId): T
  param(made: T): ConnParam
  /** Sets options of the id before the route is resolved. */
  configure?(id: CmId): void
}

export interface Connected<T> {
  id: CmId
  made: T
  /** Event of the connection: Established, or ConnectResponse where the queue pair is not the id's. */
  event: CmEvent
}

/** Milliseconds between two attempts. */
const pauseMs = 50
/** Code of 537 ms: with `--wait` the request to a peer that has not started is retried sooner than after the usual 4.3 s. */
const impatient = 17

export async function connect<T extends { close(): void }>(
  station: Station,
  request: ConnectRequest<T>,
): Promise<Connected<T>> {
  const until = performance.now() + request.waitMs
  for (;;) {
    try {
      return await attempt(station, request)
    } catch (error) {
      const left = until - performance.now()
      if (!(error instanceof CmFailure) || !error.nobody || left <= 0) throw error
      await station.rest(Math.min(left, pauseMs))
    }
  }
}

/** Returns an id with address and route. */
export async function resolve(
  station: Station,
  { portSpace, qpType, destination, source, configure, waitMs }: Omit<ConnectRequest<never>, 'prepare' | 'param'>,
): Promise<CmId> {
  const id = station.channel.createId(portSpace, qpType === undefined ? {} : { qpType })
  try {
    id.resolveAddr(source, destination, 2000)
    await station.event(id, CmEventType.AddrResolved)
    if (waitMs > 0) id.setOption('responseTimeout', impatient)
    configure?.(id)
    id.resolveRoute(2000)
    await station.event(id, CmEventType.RouteResolved)
    return id
  } catch (error) {
    id.close()
    throw error
  }
}

async function attempt<T extends { close(): void }>(
  station: Station,
  request: ConnectRequest<T>,
): Promise<Connected<T>> {
  const id = await resolve(station, request)
  let made: T | undefined
  try {
    made = request.prepare(id)
    id.connect(request.param(made))
    const event = await station.event(id, CmEventType.Established, CmEventType.ConnectResponse)
    return { id, made, event }
  } catch (error) {
    if (made !== undefined) made.close()
    id.close()
    throw error
  }
}
