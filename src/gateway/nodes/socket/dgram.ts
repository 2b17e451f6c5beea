/** UDP by Node's own sockets, where system calls cannot be made directly. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { NodeContext, RunningNode } from '../../index.ts'
import { Counters } from '../kit/counters.ts'
import { FramesOut } from '../kit/frames-out.ts'
import { Inbox } from '../kit/inbox.ts'
import { describeAddress } from '../kit/settings.ts'
import type { SocketSettings } from './settings.ts'
import { fault, resolve } from './udp-address.ts'

const limit = 65_507
/** Maximum number of datagrams in flight to the kernel: more are lost. */
const mostQueued = 1024

export async function startDgram(context: NodeContext, settings: SocketSettings): Promise<RunningNode> {
  const { format, multicast, verifySource } = settings
  const { family, local, remote } = await resolve(context, settings)
  const counters = new Counters(context)
  const socket = createSocket({ type: `udp${family}`, reuseAddr: multicast !== undefined })
  try {
    socket.bind(local.port, local.host)
    await once(socket, 'listening')
    if (multicast) {
      const near = multicast.interface || undefined
      socket.addMembership(multicast.group, near)
      if (near) socket.setMulticastInterface(near)
      socket.setMulticastLoopback(multicast.loop)
      socket.setMulticastTTL(multicast.ttl)
    }
  } catch (error) {
    socket.close()
    throw fault((error as Error).message)
  }
  const inbox = settings.local === undefined ? null : new Inbox(context, format, counters)
  socket.on('message', (bytes, from) => {
    if (verifySource && (from.address !== remote!.host || from.port !== remote!.port)) {
      const what = `a datagram that does not come from ${describeAddress(remote!)} was dropped (verify_source)`
      counters.warn('wrong_source', what)
    } else inbox?.message(bytes)
  })
  socket.on('error', (error) => counters.warn('receive_failed', error.message))
  let state = 'started'
  let queued = 0
  const send = (frame: Uint8Array, count: number): boolean => {
    if (queued >= mostQueued) {
      counters.warn('dropped', 'the socket is full: samples are lost', count)
      return false
    }
    queued++
    socket.send(Uint8Array.from(frame), remote!.port, remote!.host, (error) => {
      queued--
      if (error) counters.warn('send_failed', `samples are lost: ${error.message}`, count)
    })
    return true
  }
  return {
    source: inbox,
    destination: remote ? new FramesOut(context, format, counters, { limit, send }) : null,
    get state() {
      return state
    },
    counters: () => counters.all,
    async stop() {
      state = 'stopped'
      inbox?.stop()
      socket.close()
      await once(socket, 'close')
    },
  }
}
