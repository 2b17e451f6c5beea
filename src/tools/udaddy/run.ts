/**
 * `udaddy`: the client requests the server's UD queue pair (SIDR) and sends it datagrams; the server answers each client
 * with as many. A datagram's immediate is the number of the queue pair that it comes from. Defaults and output are those
 * of rdma-core's program.
 */
import {
  type Destination,
  type MessageEnd,
  type MessageResult,
  type MessageRun,
  messageEnd,
  type RunOptions,
  runTwin,
  type TwinSettings,
} from '../cm-kit/index.ts'

export const udaddyPort = 7174

type Run = MessageRun<TwinSettings>

export async function runUdaddy(settings: TwinSettings, options: RunOptions): Promise<MessageResult> {
  const servers = new Map<MessageEnd, Destination>()
  return await runTwin<TwinSettings>(
    {
      ...{ tool: 'udaddy', title: 'udaddy', param: {} },
      connected: (end, { param: { ahAttr, qpNum, qkey } }) => {
        servers.set(end, { ah: end.keep(end.pd.createAh(ahAttr!)), qpNum: qpNum!, qkey: qkey! })
      },
      client: (run) => client(run, servers),
      server,
    },
    settings,
    options,
  )
}

async function client({ settings, output, ends }: Run, servers: ReadonlyMap<MessageEnd, Destination>): Promise<void> {
  if (settings.messageCount === 0) return
  output.line('initiating data transfers')
  for (const end of ends) end.postSends(servers.get(end)!, false)
  output.line('receiving data transfers')
  for (const end of ends) await end.completed('received')
  output.line('data transfers complete')
}

async function server(run: Run): Promise<void> {
  const { settings, station, output, ends } = run
  while (ends.length < settings.connections) {
    const { id } = await station.request()
    run.begin()
    const end = messageEnd(run, id)
    ends.push(end)
    id.accept({ qpNum: end.qp.qpNum })
  }
  if (settings.messageCount === 0) return
  output.line('receiving data transfers')
  for (const end of ends) await end.completed('received')
  output.line('sending replies')
  for (const end of ends) end.postSends(end.sender)
  for (const end of ends) await end.completed('sent')
  output.line('data transfers complete')
}
