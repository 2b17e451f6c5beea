/** A thread that blocks for events in sleep.test.ts: it tells its end, and then how many messages have come. */
import { parentPort } from 'node:worker_threads'
import {
  connectQp,
  endpointOf,
  openDevice,
  type QpEndpoint,
  RecvWorkRequest,
  workCompletions,
} from '../../../src/index.ts'
import { threadData } from '../../../src/memory/index.ts'
import { access, makeEnd } from '../shm/rig.ts'

export interface SleeperData {
  device: string
  /** How many messages have come; how often the thread has waited; 1 when it is to end. */
  words: Int32Array
}

const { device, words } = threadData<SleeperData>()
const port = parentPort!
const context = openDevice(device)
const channel = context.createCompChannel()
const recvCq = context.createCq(64, { channel })
const end = makeEnd(context, { recvCq })
const local = endpointOf(end.qp)
const wc = workCompletions(8)

port.once('message', (endpoint: QpEndpoint) => {
  connectQp(end.qp, local, endpoint, { accessFlags: access, timeout: 16, retryCnt: 7 })
  for (let i = 0; i < 32; i++) end.qp.postRecv(new RecvWorkRequest(i, [end.sge(64 * i)]))
  port.postMessage('connected')
  while (Atomics.load(words, 2) === 0) {
    recvCq.reqNotify()
    const come = recvCq.poll(wc)
    if (come > 0) {
      Atomics.add(words, 0, come)
      Atomics.notify(words, 0)
      continue
    }
    Atomics.add(words, 1, 1)
    channel.getEvent(5000)?.ackEvents(1)
  }
  end.close()
  recvCq.close()
  channel.close()
  context.close()
  port.postMessage('done')
})
port.postMessage(local)
