/** Destroys a CQ of which an event is not acknowledged: that must wait until somebody acknowledges it. */
import { Opcode, QpState, QpType, SendFlag } from '../../../src/index.ts'
import { makeEnd, open, say } from './worker.ts'

const context = open()
const channel = context.createCompChannel()
const cq = context.createCq(16, { channel })
const end = makeEnd(context)
const qp = end.pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq })
cq.reqNotify()
// A flushed request is a completion that needs no peer.
qp.modify({ state: QpState.Init, pkeyIndex: 0, port: 1, accessFlags: 0 })
qp.modify({ state: QpState.Err })
qp.postSend({ wrId: 1, opcode: Opcode.Send, sendFlags: SendFlag.Signaled })
if (channel.getEvent(10_000) !== cq) throw new Error('no event')
qp.close()
say({ handle: cq.handle })
cq.close()
say('closed')
channel.close()
end.close()
context.close()
