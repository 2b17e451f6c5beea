/**
 * `udaddy`: the client requests the server's UD queue pair (SIDR) and sends it datagrams; the server answers each client
 * with as many. A datagram's immediate is the number of the queue pair that it comes from. Defaults and output are those
 * of rdma-core's program.
 */
import type { CmId, PortSpace } from '../../index.ts'
import {
  all,
  type CommonSettings,
  connect,
  type Destination,
  MessageEnd,
  type MessageResult,
  type MessageRun,
  type RunOptions,
  runMessages,
} from '../cm-kit/index.ts'
import { hostAddress } from '../kit/index.ts'

export const udaddyPort = 7174

export interface UdaddySettings extends CommonSettings {
  /** Address of the server; undefined: this is the server. */
  server?: string | undefined
  bind?: string | undefined
  portSpace: PortSpace
  port: number
  connections: number
  messageCount: number
  messageSize: number
  tos?: number | undefined
}

type Run = MessageRun<UdaddySettings>

export async function runUdaddy(settings: UdaddySettings, options: RunOptions): Promise<MessageResult> {
  const role = settings.server === undefined ? 'server' : 'client'
  const play = role === 'server' ? server : client
  return await runMessages({ tool: 'udaddy', title: 'udaddy', role, settings, options }, play)
}

async function client(run: Run): Promise<void> {
  const { settings, station, output, ends } = run
  const { portSpace, port, tos, waitMs, connections, messageCount } = settings
  const address = await hostAddress(settings.server!)
  const source = settings.bind === undefined ? undefined : { address: await hostAddress(settings.bind) }
  run.begin()
  output.line('udaddy: connecting')
  const servers: Destination[] = []
  const one = async (): Promise<void> => {
    const { made, event } = await connect(station, {
      portSpace,
      destination: { address, port },
      source,
      waitMs,
      configure: (id) => {
        if (tos !== undefined) id.setOption('tos', tos)
      },
      prepare: (id) => prepare(run, id),
      param: () => ({}),
    })
    ends.push(made)
    const { ahAttr, qpNum, qkey } = event.param
    servers.push({ ah: made.keep(made.pd.createAh(ahAttr!)), qpNum: qpNum!, qkey: qkey! })
  }
  await one()
  await all(Array.from({ length: connections - 1 }, one))
  if (messageCount === 0) return
  output.line('initiating data transfers')
  for (const [i, end] of ends.entries()) end.postSends(servers[i]!, false)
  output.line('receiving data transfers')
  for (const end of ends) await end.completed('received')
  output.line('data transfers complete')
}

async function server(run: Run): Promise<void> {
  const { settings, station, output, ends } = run
  const { portSpace, port, connections, messageCount, bind } = settings
  const listener = station.channel.createId(portSpace)
  listener.bindAddr({ ...(bind === undefined ? {} : { address: await hostAddress(bind) }), port })
  listener.listen(0)
  while (ends.length < connections) {
    const { id } = await station.request()
    run.begin()
    const end = prepare(run, id)
    ends.push(end)
    id.accept({ qpNum: end.qp.qpNum })
  }
  if (messageCount === 0) return
  output.line('receiving data transfers')
  for (const end of ends) await end.completed('received')
  output.line('sending replies')
  for (const end of ends) end.postSends(end.sender)
  for (const end of ends) await end.completed('sent')
  output.line('data transfers complete')
}

function prepare({ station, settings }: Run, id: CmId): MessageEnd {
  const end = new MessageEnd(station, id, settings)
  end.postReceives()
  return end
}
