/**
 * `mckey`: joins a multicast group; the sender sends datagrams to it, and the receivers wait for them. They exchange
 * nothing else. Defaults and output are those of rdma-core's program.
 */
import { CmEventType, type CmId, type PortSpace } from '../../index.ts'
import {
  type CommonSettings,
  type Destination,
  MessageEnd,
  type MessageResult,
  type MessageRun,
  type RunOptions,
  resolve,
  runMessages,
} from '../cm-kit/index.ts'
import { gidText, hostAddress } from '../kit/index.ts'

export interface MckeySettings extends CommonSettings {
  /** IP address of the group. */
  group: string
  sender: boolean
  /** True if its queue pairs are not members: they do not receive datagrams of the group. */
  sendOnly: boolean
  bind?: string | undefined
  portSpace: PortSpace
  /** Number of queue pairs that join. */
  connections: number
  messageCount: number
  messageSize: number
  /** Milliseconds between joining and the first message: switches of a subnet have to learn the members. */
  settleMs: number
}

type Run = MessageRun<MckeySettings>

export async function runMckey(settings: MckeySettings, options: RunOptions): Promise<MessageResult> {
  const role = settings.sender ? 'client' : 'server'
  return await runMessages({ tool: 'mckey', title: 'mckey', role, settings, options }, play)
}

async function play(run: Run): Promise<void> {
  const { settings, station, output, ends } = run
  const { portSpace, sender, sendOnly, connections, messageCount, settleMs } = settings
  const group = await hostAddress(settings.group)
  const source = settings.bind === undefined ? undefined : { address: await hostAddress(settings.bind) }
  run.begin()
  output.line('mckey: joining')
  const groups: Destination[] = []
  for (let i = 0; i < connections; i++) {
    const id = await resolve(station, { portSpace, destination: { address: group }, source, waitMs: 0 })
    // A queue pair that exists when its id joins becomes a member.
    if (!sendOnly) makeEnd(run, id)
    id.joinMulticast({ address: group })
    const { ahAttr, qpNum, qkey } = (await station.event(id, CmEventType.MulticastJoin)).param
    if (sendOnly) makeEnd(run, id)
    const end = ends[i]!
    const { grh, dlid = 0, sl = 0 } = ahAttr!
    output.line(`mckey: joined dgid: ${gidText(grh!.dgid)} mlid 0x${dlid.toString(16)} sl ${sl}`)
    groups.push({ ah: end.keep(end.pd.createAh(ahAttr!)), qpNum: qpNum!, qkey: qkey! })
  }
  await station.rest(settleMs)
  if (messageCount > 0) {
    if (sender) {
      output.line('initiating data transfers')
      for (const [i, end] of ends.entries()) end.postSends(groups[i]!)
      for (const end of ends) await end.completed('sent')
    } else {
      output.line('receiving data transfers')
      for (const end of ends) await end.completed('received')
    }
    output.line('data transfers complete')
  }
  for (const { id } of ends) id.leaveMulticast({ address: group })
}

function makeEnd({ station, settings, ends }: Run, id: CmId): void {
  const end = new MessageEnd(station, id, settings)
  ends.push(end)
  if (!settings.sender) end.postReceives()
}
