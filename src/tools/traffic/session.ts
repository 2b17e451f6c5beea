/** The client of `verbena traffic`: finds its servers over TCP, and has its data thread send the requests. */
import { entryModule } from '../../memory/index.ts'
import { type ServerAddress, serverText, type TrafficConfig, type TrafficRecord, toPlain } from '../../traffic/index.ts'
import { Control, type LinkEnd, type LinkPlan, planOf, type ServerCounts } from '../../traffic/run/index.ts'
import { apart, callThread, connectTo, Peer, UsageError, type Wire } from '../kit/index.ts'
import type { ClientOpen, Reached } from './client-thread.ts'
import type { EndOptions } from './end.ts'
import { type Address, expect, protocolVersion, say } from './protocol.ts'

export interface ClientRunOptions {
  config: TrafficConfig
  end: EndOptions
  /** True if the RDMA CM connects the queue pairs. */
  rdmaCm: boolean
  version: string
  waitMs: number
  signal: AbortSignal
  /** Called when so many servers are ready. */
  onBegin(servers: number): void
  /** Called now and then while requests run. */
  onLive(live: Float64Array): void
}

export interface TrafficRun {
  record: TrafficRecord
  /** Device of the client. */
  device: string
  /** Number of threads that poll at the same time on this host: of the client, and of servers. */
  pollingThreads: number
  /** Counts of each server. */
  counted: Record<string, ServerCounts>
  interrupted: boolean
}

const callMs = 60_000
const answerMs = 30_000
const liveEveryMs = 250
const forever = Number.POSITIVE_INFINITY

interface Server {
  name: string
  wire: Wire | null
  reached: Reached | null
  why: string
}

export async function runClient(options: ClientRunOptions): Promise<TrafficRun> {
  const { config, end, signal } = options
  const control = new Control(config.servers.length)
  const thread = new Peer('traffic', entryModule(import.meta.url, './client-thread'), {
    control: control.buffer,
    servers: config.servers.length,
  })
  const stop = (): void => control.stop()
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  const servers: Server[] = []
  try {
    const address = await callThread<Address>(
      thread,
      'open',
      { end, config: toPlain(config), rdmaCm: options.rdmaCm } satisfies ClientOpen,
      callMs,
    )
    const plan = planOf(config)
    servers.push(...(await Promise.all(config.servers.map((server) => reach(server, address, plan, options)))))
    if (servers.every(({ reached }) => reached === null))
      throw new UsageError(
        'servers',
        `none can be used: ${servers.map(({ name, why }) => `${name}: ${why}`).join('; ')}`,
      )
    const reached = servers.map((server) => server.reached)
    const ends = await callThread<(LinkEnd | null)[]>(thread, 'prepare', reached, callMs)
    await Promise.all(
      servers.map(async ({ wire }, i) => {
        if (wire === null) return
        wire.onEnd(() => control.lose(i))
        try {
          await say(wire, { type: 'connect', end: ends[i]! })
          if (options.rdmaCm) await callThread(thread, 'join', { server: i, reached: reached[i] }, callMs)
          await expect(wire, 'ready', answerMs)
        } catch (error) {
          // Its requests fail, as those of a server that ends later; the other servers continue.
          servers[i]!.why = (error as Error).message
          wire.close()
          control.lose(i)
        }
      }),
    )
    options.onBegin(servers.filter(({ why }) => why === '').length)
    const live = setInterval(() => options.onLive(control.live), liveEveryMs)
    const record = await callThread<TrafficRecord>(thread, 'run', null, forever).finally(() => clearInterval(live))
    const counted = await farewell(servers)
    await callThread(thread, 'close', null, callMs)
    const unreachable = Object.fromEntries(servers.flatMap(({ name, why }) => (why === '' ? [] : [[name, why]])))
    const pollingThreads = 1 + reached.filter((server) => server?.sameHost).length
    return {
      record: { ...record, unreachable },
      device: address.device,
      pollingThreads,
      counted,
      interrupted: signal.aborted,
    }
  } finally {
    signal.removeEventListener('abort', stop)
    for (const { wire } of servers) wire?.close()
    await thread.terminate()
  }
}

/** Connects to a server; one that is down or does not agree is left out, and the others continue. */
async function reach(
  server: ServerAddress,
  address: Address,
  plan: LinkPlan,
  options: ClientRunOptions,
): Promise<Server> {
  const name = serverText(server)
  let wire: Wire | null = null
  try {
    wire = await connectTo(server.host, server.port, { waitMs: options.waitMs, signal: options.signal })
    await say(wire, {
      type: 'hello',
      protocol: protocolVersion,
      verbena: options.version,
      address,
      plan,
      rdmaCm: options.rdmaCm,
    })
    const welcome = await expect(wire, 'welcome', answerMs)
    const why = apart(address.device, welcome.address.device)
    if (why !== undefined) throw new Error(why)
    const agreed = { ...plan, mtu: welcome.mtu }
    const reached = {
      address: welcome.address,
      plan: agreed,
      end: welcome.end,
      cm: welcome.cm,
      sameHost: wire.sameHost,
    }
    return { name, wire, reached, why: '' }
  } catch (error) {
    wire?.close()
    const { message } = error as Error
    return { name, wire: null, reached: null, why: message.replace(/: start the same command there first.*/, '') }
  }
}

async function farewell(servers: readonly Server[]): Promise<Record<string, ServerCounts>> {
  const counted = await Promise.all(
    servers.map(async ({ name, wire }) => {
      if (wire === null || wire.ended) return []
      try {
        await say(wire, { type: 'bye' })
        return [[name, (await expect(wire, 'done', answerMs)).counts] as const]
      } catch {
        // The server has ended; its requests are counted as failed.
        return []
      }
    }),
  )
  return Object.fromEntries(counted.flat())
}
