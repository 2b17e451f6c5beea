/** Receives some messages and destroys its queue pair while the peer goes on sending. */
import { type QpEndpoint, WcStatus } from '../../../src/index.ts'
import type { VictimData } from './start.ts'
import { data, hear, makeEnd, open, pollOne, say } from './worker.ts'

const { rounds } = data<VictimData>()
const context = open()
for (let round = 0; round < rounds; round++) {
  const end = makeEnd(context)
  const local = end.endpoint()
  const peer = hear<QpEndpoint>()
  say({ endpoint: local })
  end.connect(local, await peer)
  for (let i = 0; i < 32; i++) end.qp.postRecv({ wrId: i, sgList: [end.sge(0, 64)] })
  say('ready')
  for (let received = 0; received < 40; received++) {
    const wc = await pollOne(end.cq)
    if (wc.status !== WcStatus.Success) throw new Error(wc.statusText)
    end.qp.postRecv({ wrId: received, sgList: [end.sge(0, 64)] })
  }
  end.close()
  say('closed')
}
context.close()
