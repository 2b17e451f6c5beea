/**
 * Our side of rdma-cm.test.ts: it plays ucmatose, udaddy or mckey of librdmacm with one connection, and says as JSON lines
 * what it sees: `rdma-cm-peer.ts ucmatose|udaddy|mckey client|server DEVICE ADDRESS PORT MESSAGES BYTES`. The client of mckey
 * sends.
 */
import {
  Access,
  type CmEvent,
  CmEventType,
  type CmId,
  createEventChannel,
  Opcode,
  PortSpace,
  SendFlag,
  udpQkey,
  workCompletions,
} from '../../src/index.ts'

const [program, role, device, address, portText, countText, bytesText] = process.argv.slice(2) as string[]
const [port, count, bytes] = [Number(portText), Number(countText), Number(bytesText)]
const ud = program !== 'ucmatose'
const space = ud ? PortSpace.Udp : PortSpace.Tcp
const channel = createEventChannel({ device: device! })
const patienceMs = 60_000
const say = (what: object): void => console.log(JSON.stringify(what))

function next(...types: CmEventType[]): CmEvent {
  const event = early.shift() ?? channel.getEvent(patienceMs)
  if (event === undefined) throw new Error('no event')
  say({ event: event.name, status: event.status })
  if (!types.includes(event.type)) process.exit(types.length === 0 ? 0 : 1)
  return event
}

let looked = 0
const early: CmEvent[] = []
function processEvents(): void {
  for (let event = channel.tryGetEvent(); event !== undefined; event = channel.tryGetEvent()) early.push(event)
}

/** How to write to who sent last. */
let sender = 0

interface Traffic {
  send(to?: CmEvent, qpNum?: number): void
  receive(): void
}

/** All receives are posted at once, as the originals do. */
function traffic(id: CmId): Traffic {
  const qp = id.createQp({ cap: { maxSendWr: count, maxRecvWr: count } })
  const grh = ud ? 40 : 0
  const buffer = id.verbs!.alloc(2 * bytes + grh)
  const mr = id.pd!.regMr(buffer, Access.LocalWrite)
  const wc = workCompletions(1)
  const take = (cq: typeof qp.sendCq): void => {
    const end = performance.now() + patienceMs
    while (cq.poll(wc) === 0) {
      if (performance.now() > end) throw new Error('no completion')
      // Answers of the communication manager that were lost are given again.
      if (performance.now() - looked > 10) {
        looked = performance.now()
        processEvents()
      }
    }
    if (wc[0]!.status !== 0) throw new Error(wc[0]!.statusText)
  }
  for (let i = 0; i < count; i++)
    qp.postRecv({ wrId: i, sgList: [{ addr: mr.addr + bytes, length: bytes + grh, lkey: mr.lkey }] })
  return {
    send(to, qpNum = to?.param.qpNum) {
      const { ah, qkey = udpQkey } = to?.param ?? {}
      const way = ud ? { ah, remoteQpn: qpNum, remoteQkey: qkey, immData: qp.qpNum } : {}
      for (let i = 0; i < count; i++) {
        const sgList = [{ addr: mr.addr, length: bytes, lkey: mr.lkey }]
        const opcode = ud ? Opcode.SendWithImm : Opcode.Send
        qp.postSend({ opcode, sendFlags: SendFlag.Signaled, sgList, ...way } as never)
        take(qp.sendCq)
      }
      say({ sent: count })
    },
    receive() {
      for (let i = 0; i < count; i++) take(qp.recvCq)
      sender = wc[0]!.srcQp
      say({ received: count, byteLen: wc[0]!.byteLen - grh })
    },
  }
}

const T = CmEventType
if (program === 'mckey') {
  const id = channel.createId(space)
  id.bindAddr({ address: device!.slice('roce:'.length) })
  const data = traffic(id)
  id.joinMulticast({ address: address! })
  const join = next(T.MulticastJoin)
  say({ joined: address })
  if (role === 'client') data.send(join)
  else data.receive()
} else if (role === 'client') {
  const id = channel.createId(space)
  id.resolveAddr(undefined, { address: address!, port }, 2000)
  next(T.AddrResolved)
  id.resolveRoute(2000)
  next(T.RouteResolved)
  const data = traffic(id)
  id.connect({ privateData: Buffer.from('from verbena'), responderResources: 1, initiatorDepth: 1, retryCount: 5 })
  const established = next(T.Established)
  if (ud) {
    data.send(established)
    data.receive()
  } else {
    data.receive()
    data.send()
    next(T.Disconnected)
    id.disconnect()
    next(T.TimewaitExit)
  }
} else {
  const listener = channel.createId(space)
  listener.bindAddr({ port })
  listener.listen()
  say({ listening: port })
  const request = next(T.ConnectRequest)
  const { id } = request
  say({ peer: id.peerAddress, local: id.localAddress })
  const data = traffic(id)
  id.accept({ responderResources: 1, initiatorDepth: 1 })
  if (ud) {
    data.receive()
    data.send(request, sender)
  } else {
    next(T.Established)
    data.send()
    data.receive()
    id.disconnect()
    next(T.Disconnected)
  }
}
channel.close()
say({ done: true })
process.exit(0)
