/** Posts numbered messages to a queue pair that belongs to another thread. */
import { Opcode, SendFlag, VerbsError } from '../../../src/index.ts'
import type { PosterData } from './start.ts'
import { data, hear, open, say, turn } from './worker.ts'

const { qp: handle, sge, first, count } = data<PosterData>()
const context = open()
const qp = context.importQp(handle)
const go = hear()
say('ready')
await go
for (let i = 0; i < count; ) {
  const wrId = first + i
  try {
    qp.postSend({ wrId, opcode: Opcode.SendWithImm, immData: wrId, sendFlags: SendFlag.Signaled, sgList: [sge] })
    i++
  } catch (error) {
    if (!(error instanceof VerbsError) || error.code !== 'ENOMEM') throw error
    await turn()
  }
}
qp.close()
context.close()
say('done')
