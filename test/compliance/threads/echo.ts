/** Receives messages and sends each back. */
import { Opcode, SendFlag, WcOpcode, WcStatus } from '../../../src/index.ts'
import type { EchoData } from './start.ts'
import { data, makeEnd, messageBytes, open, pollOne, say } from './worker.ts'

const { remote, messages } = data<EchoData>()
const context = open()
const end = makeEnd(context)
const local = end.endpoint()
// As its peer: both must be as patient with a busy machine.
end.connect(local, remote, { timeout: 14, retryCnt: 7 })
for (let i = 0; i < messages; i++) end.qp.postRecv({ wrId: i, sgList: [end.sge()] })
say({ endpoint: local, nodeGuid: context.queryDevice().nodeGuid })

for (let received = 0, sent = 0; sent < messages; ) {
  const wc = await pollOne(end.cq)
  if (wc.status !== WcStatus.Success) throw new Error(wc.statusText)
  if (wc.opcode !== WcOpcode.Recv) sent++
  else {
    if (wc.wrId !== received || wc.byteLen !== messageBytes)
      throw new Error(`receive ${received} is ${wc.wrId} with ${wc.byteLen} bytes`)
    received++
    end.qp.postSend({ wrId: 1000 + received, opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [end.sge()] })
  }
}
end.close()
context.close()
say('done')
