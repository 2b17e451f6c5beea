/** Sockets: UDP, TCP as client or server, UNIX datagrams and streams. */
import { nativeAvailable, nativeReason } from '../../../memory/index.ts'
import { GatewayError, type NodeContext, type NodeType, type RunningNode } from '../../index.ts'
import { inboxNode } from '../kit/inbox-node.ts'
import { type SocketSettings, socketSettings } from './settings.ts'

export const socket: NodeType = {
  name: 'socket',
  is: 'UDP, TCP and UNIX sockets',
  parse(reader, common) {
    const settings = socketSettings(reader)
    const stream = settings.layer.startsWith('tcp')
    return inboxNode(common, (context) => startSocket(context, settings), {
      settings: reader,
      format: settings.format,
      reads: stream || settings.local !== undefined,
      writes: stream || settings.remote !== undefined,
    })
  },
}

export async function startSocket(context: NodeContext, settings: SocketSettings): Promise<RunningNode> {
  if (settings.layer.startsWith('tcp')) return (await import('./tcp.ts')).startTcp(context, settings)
  if (settings.layer === 'unix') {
    if (nativeAvailable) return (await import('./datagrams.ts')).startUnix(context, settings)
    const reason = `Node.js has no UNIX datagrams, and ${nativeReason}`
    throw new GatewayError('ERR_GATEWAY_NODE', `the layer unix needs koffi: ${reason}`)
  }
  if (nativeAvailable) return (await import('./datagrams.ts')).startUdp(context, settings)
  return (await import('./dgram.ts')).startDgram(context, settings)
}
