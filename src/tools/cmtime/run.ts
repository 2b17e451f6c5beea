/**
 * `cmtime`: the time of the steps of making and ending connections, all connections at once. Every step begins when
 * all connections have completed the step before. Defaults and output are those of rdma-core's program, as it was before
 * version 51: later versions also synchronise over TCP, and do not interoperate with it either.
 */
import { type CmAddress, type CmEvent, CmEventType, type CmId, type CompletionQueue, PortSpace } from '../../index.ts'
import {
  type CommonResult,
  type CommonSettings,
  connect,
  eventError,
  failureOf,
  type Output,
  type RunOptions,
  Station,
} from '../cm-kit/index.ts'
import { EndError, hostAddress } from '../kit/index.ts'

export const cmtimePort = 7471

export interface CmtimeSettings extends CommonSettings {
  /** Address of the server; undefined: this is the server, which runs until it is interrupted. */
  server?: string | undefined
  bind?: string | undefined
  port: number
  connections: number
  /** Number of times that an address or route is resolved again. */
  retries: number
  /** Timeout of resolving, milliseconds. */
  resolveMs: number
}

export interface CmtimeStep {
  step: string
  /** Microseconds from the first connection's beginning to the last one's end. */
  totalUs: number
  usPerConnection: number
  /** Sum of the times of single connections. */
  sumUs: number
  minUs: number
  maxUs: number
}

export interface CmtimeResult extends CommonResult {
  tool: 'cmtime'
  connections: number
  /** Steps of the client. */
  steps: CmtimeStep[]
  /** Number of connections that were not established. */
  errors: number
  /** Number of connections that a server has accepted and that have ended. */
  served?: number
}

const connParam = { responderResources: 1, initiatorDepth: 1, flowControl: false, rnrRetryCount: 0 }

const steps = [
  'create id',
  'bind addr',
  'resolve addr',
  'resolve route',
  'create qp',
  'connect',
  'disconnect',
  'destroy',
]

class Clock {
  readonly #begin: Float64Array
  readonly #end: Float64Array
  readonly #all = new Map<string, [number, number]>()
  readonly #connections: number

  constructor(connections: number) {
    this.#connections = connections
    this.#begin = new Float64Array(connections * steps.length)
    this.#end = new Float64Array(connections * steps.length)
  }

  #at(step: string, i: number): number {
    return steps.indexOf(step) * this.#connections + i
  }

  begin(step: string, i: number): void {
    this.#begin[this.#at(step, i)] = performance.now()
  }

  end(step: string, i: number): void {
    this.#end[this.#at(step, i)] = performance.now()
  }

  async all(step: string, work: () => Promise<void> | void): Promise<void> {
    const start = performance.now()
    await work()
    this.#all.set(step, [start, performance.now()])
  }

  results(): CmtimeStep[] {
    return steps
      .filter((step) => this.#all.has(step))
      .map((step) => {
        const [start, end] = this.#all.get(step)!
        const times = Array.from({ length: this.#connections }, (_, i) => {
          const [from, to] = [this.#begin[this.#at(step, i)]!, this.#end[this.#at(step, i)]!]
          return from > 0 && to > 0 ? (to - from) * 1000 : undefined
        }).filter((us) => us !== undefined)
        const totalUs = (end - start) * 1000
        return {
          step,
          totalUs,
          usPerConnection: totalUs / this.#connections,
          sumUs: times.reduce((sum, us) => sum + us, 0),
          minUs: times.length === 0 ? 0 : times.reduce((least, us) => Math.min(least, us)),
          maxUs: times.reduce((most, us) => Math.max(most, us), 0),
        }
      })
  }
}

export async function runCmtime(settings: CmtimeSettings, { output, signal }: RunOptions): Promise<CmtimeResult> {
  const { connections } = settings
  const role = settings.server === undefined ? 'server' : 'client'
  const result: CmtimeResult = { tool: 'cmtime', role, device: '', counters: {}, connections, steps: [], errors: 0 }
  try {
    if (role === 'client') await new Client(settings, output, signal, result).run()
    else await serve(settings, output, signal, result)
  } catch (error) {
    result.failure = failureOf(error)
  }
  if (role === 'client' && result.failure === undefined && result.errors > 0)
    result.failure = { code: 'ERRORS', message: `${result.errors} of ${connections} connections were not made` }
  return result
}

/** Returns the table of rdma-core's program. */
export function cmtimeTable(results: readonly CmtimeStep[]): string {
  const column = (value: number): string => value.toFixed(2).padStart(11)
  const rows = results.map(
    ({ step, totalUs, maxUs, minUs, usPerConnection }) =>
      `${step.padEnd(13)}: ${column(totalUs / 1000)}${column(maxUs / 1000)}${column(minUs)}${column(usPerConnection)}`,
  )
  return ['step              total ms     max ms     min us  us / conn', ...rows].join('\n')
}

// --- the client ------------------------------------------------------------------------------------------------------

interface Node {
  readonly i: number
  id: CmId
  retries: number
  error: boolean
}

class Client {
  readonly #settings: CmtimeSettings
  readonly #output: Output
  readonly #result: CmtimeResult
  readonly #station: Station
  readonly #clock: Clock
  #nodes: Node[] = []
  #cq: CompletionQueue | undefined
  /** Number of connections that have not completed the current step, which waits for events. */
  #left = 0
  #destination: CmAddress = {}
  #source: CmAddress | undefined

  constructor(settings: CmtimeSettings, output: Output, signal: AbortSignal | undefined, result: CmtimeResult) {
    this.#settings = settings
    this.#output = output
    this.#result = result
    this.#clock = new Clock(settings.connections)
    const onEvent = (event: CmEvent): void => this.#event(event)
    this.#station = new Station({ device: settings.device, stallMs: settings.stallMs, signal, onEvent })
  }

  async run(): Promise<void> {
    const { server, bind, port } = this.#settings
    try {
      this.#destination = { address: await hostAddress(server!), port }
      this.#source = bind === undefined ? undefined : { address: await hostAddress(bind) }
      await this.#steps()
    } finally {
      for (const { id } of this.#nodes) id.close()
      this.#result.counters = this.#station.counters()
      this.#station.close()
      this.#result.errors = this.#nodes.filter(({ error }) => error).length
      this.#result.steps = this.#clock.results()
    }
  }

  async #steps(): Promise<void> {
    const { connections, retries, resolveMs } = this.#settings
    const { channel } = this.#station
    if (this.#settings.waitMs > 0) await this.#waitForServer()
    await this.#step('creating id', 'create id', false, undefined, () => {
      for (let i = 0; i < connections; i++) {
        this.#clock.begin('create id', i)
        const id = channel.createId(PortSpace.Tcp)
        this.#nodes.push({ i, id, retries, error: false })
        id.context = this.#nodes[i]
        this.#clock.end('create id', i)
      }
    })
    const source = this.#source
    if (source !== undefined)
      await this.#step('binding source address', 'bind addr', false, ({ id }) => id.bindAddr(source))
    await this.#step('resolving address', 'resolve addr', true, ({ id }) =>
      id.resolveAddr(undefined, this.#destination, resolveMs),
    )
    await this.#step('resolving route', 'resolve route', true, (node) => {
      node.retries = retries
      node.id.resolveRoute(resolveMs)
    })
    await this.#step('creating qp', 'create qp', false, ({ id }) => this.#createQp(id))
    await this.#step('connecting', 'connect', true, ({ id }) =>
      id.connect({ ...connParam, retryCount: Math.min(7, retries) }),
    )
    await this.#step('disconnecting', 'disconnect', true, ({ id }) => {
      id.disconnect()
      id.destroyQp()
    })
    await this.#step('destroying id', 'destroy', false, ({ id }) => id.close())
  }

  /** Makes a connection and ends it, before anything is timed. */
  async #waitForServer(): Promise<void> {
    const { id } = await connect(this.#station, {
      portSpace: PortSpace.Tcp,
      destination: this.#destination,
      waitMs: this.#settings.waitMs,
      prepare: (id) => {
        this.#createQp(id)
        return { close: () => {} }
      },
      param: () => connParam,
    })
    id.disconnect()
    await this.#station.event(id, CmEventType.Disconnected)
    id.close()
  }

  #createQp(id: CmId): void {
    const context = id.verbs!
    this.#result.device = context.name
    // No work request is ever posted: one completion queue serves all connections.
    this.#cq ??= context.createCq(1)
    const cap = { maxSendWr: 1, maxRecvWr: 1, maxSendSge: 1, maxRecvSge: 1 }
    id.createQp({ sendCq: this.#cq, recvCq: this.#cq, cap })
  }

  /** Runs one step on all remaining connections; with `waits` it is done when an event has arrived for each. */
  async #step(
    text: string,
    step: string,
    waits: boolean,
    each: ((node: Node) => void) | undefined,
    whole?: () => void,
  ): Promise<void> {
    this.#output.line(text)
    await this.#clock.all(step, async () => {
      whole?.()
      if (each === undefined) return
      const nodes = this.#nodes.filter(({ error }) => !error)
      this.#left = waits ? nodes.length : 0
      for (const node of nodes) {
        this.#clock.begin(step, node.i)
        each(node)
        if (!waits) this.#clock.end(step, node.i)
      }
      await this.#station.until(`all connections to be done with '${step}'`, () => this.#left === 0)
    })
  }

  #event(event: CmEvent): void {
    const node = event.id.context as Node | undefined
    if (node === undefined) return
    const { retries } = node
    const { resolveMs } = this.#settings
    switch (event.type) {
      case CmEventType.AddrResolved:
        this.#done('resolve addr', node)
        break
      case CmEventType.RouteResolved:
        this.#done('resolve route', node)
        break
      case CmEventType.Established:
        this.#done('connect', node)
        break
      case CmEventType.Disconnected:
        this.#done('disconnect', node)
        break
      case CmEventType.AddrError:
        node.retries--
        if (retries > 0) node.id.resolveAddr(undefined, this.#destination, resolveMs)
        else this.#failed('resolve addr', node, event)
        break
      case CmEventType.RouteError:
        node.retries--
        if (retries > 0) node.id.resolveRoute(resolveMs)
        else this.#failed('resolve route', node, event)
        break
      case CmEventType.ConnectError:
      case CmEventType.Unreachable:
      case CmEventType.Rejected:
        this.#failed('connect', node, event)
        break
      default:
    }
  }

  #done(step: string, { i }: Node): void {
    this.#clock.end(step, i)
    this.#left--
  }

  #failed(step: string, node: Node, event: CmEvent): void {
    node.error = true
    this.#output.line(`event: ${event.name}, error: ${event.status}`)
    const error = eventError(event)
    if (node.i === 0 && error !== undefined) this.#output.error(error.message)
    this.#done(step, node)
  }
}

// --- the server ------------------------------------------------------------------------------------------------------

async function serve(
  { device, bind, port }: CmtimeSettings,
  output: Output,
  signal: AbortSignal | undefined,
  result: CmtimeResult,
): Promise<void> {
  const cqs = new Map<object, CompletionQueue>()
  result.served = 0
  const onEvent = ({ type, id }: CmEvent): void => {
    if (type !== CmEventType.Disconnected) return
    result.served!++
    id.disconnect()
    id.close()
  }
  const station = new Station({ device, stallMs: 0, signal, onEvent })
  try {
    const listener = station.channel.createId(PortSpace.Tcp)
    listener.bindAddr({ ...(bind === undefined ? {} : { address: await hostAddress(bind) }), port })
    listener.listen(0)
    result.device = listener.verbs?.name ?? 'roce'
    const cap = { maxSendWr: 1, maxRecvWr: 1, maxSendSge: 1, maxRecvSge: 1 }
    for (;;) {
      const { id } = await station.request()
      const context = id.verbs!
      const cq = cqs.get(context) ?? context.createCq(1)
      cqs.set(context, cq)
      try {
        id.createQp({ sendCq: cq, recvCq: cq, cap })
        id.accept()
      } catch (error) {
        output.line(`failing connection request: ${(error as Error).message}`)
        id.close()
      }
    }
  } catch (error) {
    if (!(error instanceof EndError) || error.code !== 'INTERRUPTED') throw error
  } finally {
    result.counters = station.counters()
    station.close()
  }
}
