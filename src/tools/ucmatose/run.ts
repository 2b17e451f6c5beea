/**
 * `ucmatose`: RC connections, then messages from the server on all of them, then as many from the client, then the
 * server disconnects. Defaults and output are those of rdma-core's program.
 */
import { CmEventType, type CmId, type PortSpace } from '../../index.ts'
import {
  all,
  CmFailure,
  type CommonSettings,
  connect,
  MessageEnd,
  type MessageResult,
  type MessageRun,
  type RunOptions,
  runMessages,
} from '../cm-kit/index.ts'
import { hostAddress } from '../kit/index.ts'

export const ucmatosePort = 7471

export interface UcmatoseSettings extends CommonSettings {
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
  /** Code of the local ACK timeout. */
  ackTimeout?: number | undefined
  /** True if all ids move to another event channel before they disconnect. */
  migrate: boolean
}

type Run = MessageRun<UcmatoseSettings>

export async function runUcmatose(settings: UcmatoseSettings, options: RunOptions): Promise<MessageResult> {
  const role = settings.server === undefined ? 'server' : 'client'
  const play = role === 'server' ? server : client
  return await runMessages({ tool: 'ucmatose', title: 'cmatose', role, settings, options }, play)
}

const connParam = { responderResources: 1, initiatorDepth: 1, flowControl: false, retryCount: 5, rnrRetryCount: 0 }

async function client(run: Run): Promise<void> {
  const { settings, station, output, ends } = run
  const { portSpace, port, tos, ackTimeout, waitMs, connections, messageCount } = settings
  const address = await hostAddress(settings.server!)
  const source = settings.bind === undefined ? undefined : { address: await hostAddress(settings.bind) }
  run.begin()
  output.line('cmatose: connecting')
  const one = async (): Promise<void> => {
    const { made } = await connect(station, {
      portSpace,
      destination: { address, port },
      source,
      waitMs,
      configure: (id) => {
        if (tos !== undefined) id.setOption('tos', tos)
        if (ackTimeout !== undefined) id.setOption('ackTimeout', ackTimeout)
      },
      prepare: (id) => prepare(run, id),
      param: () => connParam,
    })
    ends.push(made)
  }
  // The first connection waits for the server; the others are made together.
  await one()
  await all(Array.from({ length: connections - 1 }, one))
  if (messageCount > 0) {
    output.line('receiving data transfers')
    for (const end of ends) await end.completed('received')
    output.line('sending replies')
    for (const end of ends) end.postSends()
    output.line('data transfers complete')
  }
  if (settings.migrate) migrate(run)
  await disconnected(run)
}

async function server(run: Run): Promise<void> {
  const { settings, station, output, ends } = run
  const { portSpace, port, ackTimeout, connections, messageCount, bind } = settings
  const listener = station.channel.createId(portSpace)
  listener.bindAddr({ ...(bind === undefined ? {} : { address: await hostAddress(bind) }), port })
  listener.listen(0)
  const accepting: Promise<void>[] = []
  const accept = async (id: CmId): Promise<void> => {
    if (ackTimeout !== undefined) id.setOption('ackTimeout', ackTimeout)
    ends.push(prepare(run, id))
    id.accept()
    await station.event(id, CmEventType.Established)
  }
  while (accepting.length < connections) {
    const { id } = await station.request()
    run.begin()
    const one = accept(id)
    // Its error is handled below, with those of all the others.
    one.catch(() => {})
    accepting.push(one)
  }
  await all(accepting)
  if (messageCount > 0) {
    output.line('initiating data transfers')
    for (const end of ends) end.postSends()
    output.line('completing sends')
    for (const end of ends) await end.completed('sent')
    output.line('receiving data transfers')
    for (const end of ends) await end.completed('received')
    output.line('data transfers complete')
  }
  if (settings.migrate) migrate(run, listener)
  output.line('cmatose: disconnecting')
  for (const { id } of ends) id.disconnect()
  await disconnected(run)
  output.line('disconnected')
}

function prepare({ station, settings }: Run, id: CmId): MessageEnd {
  const end = new MessageEnd(station, id, settings)
  end.postReceives()
  return end
}

/** Waits for the disconnect of each peer, and answers it with its own. */
async function disconnected({ station, ends }: Run): Promise<void> {
  for (const { id } of ends) {
    try {
      await station.event(id, CmEventType.Disconnected)
    } catch (error) {
      if (!(error instanceof CmFailure)) throw error
    }
    id.disconnect()
  }
}

function migrate({ station, output, ends }: Run, listener?: CmId): void {
  output.line('migrating to new event channel')
  station.migrate([...(listener === undefined ? [] : [listener]), ...ends.map(({ id }) => id)])
}
