/**
 * What the other thread or process of elsewhere.slow.test.ts plays: the server or the client, with ids without a channel, or
 * with a channel whose events it waits for. It says what it sees, and ends when it is done.
 */
import {
  CmEventType,
  type CmId,
  createEventChannel,
  createId,
  Opcode,
  PortSpace,
  SendFlag,
  workCompletions,
} from '../../../src/index.ts'

export interface Part {
  role: 'server' | 'client' | 'channel server' | 'idle server'
  device: string
  address: string
  port: number
}

const rounds = 3
const bytes = 64

/** Sends and receives as many messages of numbers, blocking the thread. */
function exchange(id: CmId, first: boolean): number[] {
  const buffer = id.verbs!.alloc(2 * bytes)
  const mr = id.pd!.regMr(buffer, 1)
  const qp = id.qp!
  const wc = workCompletions(1)
  const poll = (cq: typeof qp.sendCq): void => {
    const end = performance.now() + 10_000
    while (cq.poll(wc) === 0) if (performance.now() > end) throw new Error('no completion')
    if (wc[0]!.status !== 0) throw new Error(wc[0]!.statusText)
  }
  const recv = (): void => qp.postRecv({ sgList: [{ addr: mr.addr + bytes, length: bytes, lkey: mr.lkey }] })
  const got: number[] = []
  recv()
  for (let i = 0; i < rounds; i++) {
    const send = (): void => {
      buffer[0] = 10 * i + (first ? 1 : 2)
      const sgList = [{ addr: mr.addr, length: bytes, lkey: mr.lkey }]
      qp.postSend({ opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList })
      poll(qp.sendCq)
    }
    if (first) send()
    poll(qp.recvCq)
    got.push(buffer[bytes]!)
    recv()
    if (!first) send()
  }
  mr.close()
  return got
}

export function play(part: Part, say: (message: unknown) => void): void {
  const { role, device, address, port } = part
  if (role === 'client') {
    const id = createId(PortSpace.Tcp, { device })
    id.resolveAddr(undefined, { address, port }, 2000)
    id.resolveRoute(2000)
    id.createQp()
    id.connect({ privateData: Buffer.from('from elsewhere') })
    say({ reply: Buffer.from(id.event!.param.privateData).toString('latin1').replace(/\0+$/, '') })
    say({ got: exchange(id, true) })
    id.disconnect()
    id.close()
  } else if (role === 'server') {
    const listener = createId(PortSpace.Tcp, { device })
    listener.bindAddr({ address, port })
    listener.listen()
    say({ port: listener.localAddress.port })
    const id = listener.getRequest()
    const asked = Buffer.from(id.event!.param.privateData).toString('latin1').replace(/\0+$/, '')
    id.createQp()
    id.accept({ privateData: Buffer.from('welcome') })
    say({ asked })
    say({ got: exchange(id, false) })
    id.disconnect()
    id.close()
    listener.close()
  } else {
    const channel = createEventChannel({ device })
    const listener = channel.createId(PortSpace.Tcp)
    listener.bindAddr({ address, port })
    listener.listen()
    say({ port: listener.localAddress.port })
    for (let open = true; open; ) {
      const event = channel.getEvent()!
      say({ event: event.name })
      if (event.type === CmEventType.ConnectRequest && role === 'channel server') {
        event.id.createQp()
        event.id.accept()
      }
      if (event.type === CmEventType.Disconnected) {
        event.id.disconnect()
        event.id.close()
        open = false
      }
    }
    channel.close()
  }
  say('done')
}
