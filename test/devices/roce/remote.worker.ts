/** The other end in engine.test.ts: it writes to its peer and reads it back, as often as it is told, and counts in shared memory. */
import { parentPort } from 'node:worker_threads'
import {
  connectQp,
  endpointOf,
  Opcode,
  openDevice,
  type QpEndpoint,
  SendFlag,
  sendWr,
  WcStatus,
  workCompletions,
} from '../../../src/index.ts'
import { threadData } from '../../../src/memory/index.ts'
import { access, makeEnd } from '../shm/rig.ts'

export interface RemoteData {
  device: string
  /** Whether to begin, how many round trips to make, how many were made. */
  words: Int32Array
}
export interface Target {
  endpoint: QpEndpoint
  addr: number
  rkey: number
}

const { device, words } = threadData<RemoteData>()
const port = parentPort!
const context = openDevice(device)
const end = makeEnd(context)
const local = endpointOf(end.qp)
const wc = workCompletions(1)

port.once('message', ({ endpoint, addr, rkey }: Target) => {
  const run = (opcode: typeof Opcode.Write | typeof Opcode.Read, at: number): void => {
    end.qp.postSend(
      sendWr({ opcode, sendFlags: SendFlag.Signaled, sgList: [end.sge(at, 8)], remoteAddr: addr, rkey, wrId: 1 }),
    )
    while (end.cq.poll(wc, 1) === 0);
    if (wc[0]!.status !== WcStatus.Success) throw new Error(wc[0]!.statusText)
  }
  connectQp(end.qp, local, endpoint, { accessFlags: access, timeout: 16, retryCnt: 7 })
  port.postMessage('connected')
  Atomics.wait(words, 0, 0)
  for (let n = 1; n <= words[1]!; n++) {
    end.buffer[0] = n
    end.buffer[64] = 0
    run(Opcode.Write, 0)
    run(Opcode.Read, 64)
    if (end.buffer[64] !== n) throw new Error(`read ${end.buffer[64]} where ${n} had been written`)
    Atomics.store(words, 2, n)
  }
  end.close()
  context.close()
  port.postMessage('done')
})
port.postMessage(local)
