/** The body of `ucmatose` and `udaddy`: a client that makes connections and a server that takes them, then messages both ways. */
import type { CmEvent, CmId, ConnParam, PortSpace } from '../../index.ts'
import { hostAddress } from '../kit/index.ts'
import { connect } from './connect.ts'
import { MessageEnd } from './messages.ts'
import { all, type MessageResult, type MessageRun, runMessages } from './run.ts'
import type { CommonSettings, RunOptions } from './settings.ts'

export interface TwinSettings extends CommonSettings {
  /** Address of the server; undefined: this is the server. */
  server?: string | undefined
  bind?: string | undefined
  portSpace: PortSpace
  port: number
  connections: number
  messageCount: number
  messageSize: number
  /** Type of service of the client's ids. */
  tos?: number | undefined
}

export interface Twin<S extends TwinSettings> {
  tool: string
  /** Name of the program in its output. */
  title: string
  /** Parameters of a connection that the client requests. */
  param: ConnParam
  /** Sets further options of the client's ids. */
  configure?(id: CmId, settings: S): void
  /** Called for each connection of the client. */
  connected?(end: MessageEnd, event: CmEvent): void
  /** Runs the client once it has its connections. */
  client(run: MessageRun<S>): Promise<void>
  server(run: MessageRun<S>, listener: CmId): Promise<void>
}

export async function runTwin<S extends TwinSettings>(
  twin: Twin<S>,
  settings: S,
  options: RunOptions,
): Promise<MessageResult> {
  const { tool, title } = twin
  const isServer = settings.server === undefined
  return await runMessages({ tool, title, role: isServer ? 'server' : 'client', settings, options }, async (run) => {
    if (isServer) return await twin.server(run, await listen(run))
    await connectAll(twin, run)
    await twin.client(run)
  })
}

async function connectAll<S extends TwinSettings>(twin: Twin<S>, run: MessageRun<S>): Promise<void> {
  const { settings, station, output, ends } = run
  const { portSpace, port, tos, waitMs, connections } = settings
  const address = await hostAddress(settings.server!)
  const source = settings.bind === undefined ? undefined : { address: await hostAddress(settings.bind) }
  run.begin()
  output.line(`${twin.title}: connecting`)
  const one = async (): Promise<void> => {
    const { made, event } = await connect(station, {
      portSpace,
      destination: { address, port },
      source,
      waitMs,
      configure: (id) => {
        if (tos !== undefined) id.setOption('tos', tos)
        twin.configure?.(id, settings)
      },
      prepare: (id) => messageEnd(run, id),
      param: () => twin.param,
    })
    ends.push(made)
    twin.connected?.(made, event)
  }
  // The first connection waits for the server; the others are made together.
  await one()
  await all(Array.from({ length: connections - 1 }, one))
}

async function listen({ settings, station }: MessageRun<TwinSettings>): Promise<CmId> {
  const { portSpace, port, bind } = settings
  const listener = station.channel.createId(portSpace)
  listener.bindAddr({ ...(bind === undefined ? {} : { address: await hostAddress(bind) }), port })
  listener.listen(0)
  return listener
}

/** Makes an end of a connection that takes messages. */
export function messageEnd(
  { station, settings }: Pick<MessageRun<TwinSettings>, 'station' | 'settings'>,
  id: CmId,
): MessageEnd {
  const end = new MessageEnd(station, id, settings)
  end.postReceives()
  return end
}
