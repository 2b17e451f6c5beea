/** The other process of processes.test.ts: a connection on adapter 1 of a named segment, and what it is told to do with it. */
import {
  connectQp,
  endpointOf,
  Opcode,
  openDevice,
  type QpEndpoint,
  type QpType,
  SendFlag,
  sendWr,
  workCompletions,
} from '../../../src/index.ts'
import { makeEnd, timing } from './rig.ts'

/** `drives`: polls without a pause, and so does the work of all that share its device. */
export type Role = 'idle' | 'receives' | 'flood' | 'echo' | 'drives'
export interface Hello {
  role: Role
  remote: QpEndpoint
  addr: number
  rkey: number
}

const context = openDevice(process.argv[2]!)
const end = makeEnd(context)
const local = endpointOf(end.qp)
process.send!({ endpoint: local, addr: end.mr.addr, rkey: end.mr.rkey })
process.on('message', (message: Hello | 'end') => {
  if (message === 'end') {
    end.close()
    context.close()
    process.exit(0)
  }
  connectQp(end.qp, local, message.remote, timing)
  play(message)
})

function play({ role, addr, rkey }: Hello): void {
  const wc = workCompletions(16)
  if (role === 'receives' || role === 'echo')
    for (let i = 0; i < 32; i++) end.qp.postRecv({ wrId: i, sgList: [end.sge(64 * i)] })
  process.send!('playing')
  if (role === 'echo') {
    setInterval(() => {
      for (let n = end.recvCq.poll(wc), i = 0; i < n; i++) {
        const { wrId, byteLen } = wc[i]!
        end.qp.postSend({ opcode: Opcode.Send, sgList: [end.sge(64 * wrId, byteLen)] })
      }
    }, 1)
  } else if (role === 'drives') {
    for (;;) end.recvCq.poll(wc)
  } else if (role === 'flood') {
    const wr = sendWr<typeof QpType.RC>({
      opcode: Opcode.Write,
      sendFlags: SendFlag.Signaled,
      remoteAddr: addr,
      rkey,
      sgList: [end.sge()],
    })
    for (;;) {
      end.qp.postSend(wr)
      while (end.cq.poll(wc) > 0) wr.sgList[0]!.length = (wr.sgList[0]!.length % 1000) + 8
    }
  } else setInterval(() => end.recvCq.poll(wc), 1)
}
