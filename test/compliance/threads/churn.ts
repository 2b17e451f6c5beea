/** Creates, uses and destroys queue pairs, CQs and regions as fast as it can. */
import { Opcode, SendFlag, WcStatus } from '../../../src/index.ts'
import type { ChurnData } from './start.ts'
import { data, makeEnd, open, pollOne, say } from './worker.ts'

const { rounds } = data<ChurnData>()
const context = open()
const numbers = new Set<number>()
for (let round = 0; round < rounds; round++) {
  const [a, b] = [makeEnd(context, 4), makeEnd(context, 4)]
  const [from, to] = [a.endpoint(), b.endpoint()]
  a.connect(from, to)
  b.connect(to, from)
  a.buffer.fill(round & 0xff)
  b.qp.postRecv({ wrId: round, sgList: [b.sge()] })
  a.qp.postSend({ wrId: round, opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [a.sge()] })
  for (const end of [a, b]) {
    const wc = await pollOne(end.cq)
    if (wc.status !== WcStatus.Success || wc.wrId !== round) throw new Error(`round ${round}: ${wc.statusText}`)
  }
  if (b.buffer[0] !== (round & 0xff) || b.buffer[1023] !== (round & 0xff))
    throw new Error(`round ${round}: wrong bytes`)
  numbers.add(a.qp.qpNum)
  a.close()
  b.close()
}
context.close()
say({ rounds, numbers: numbers.size })
