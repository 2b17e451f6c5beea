/**
 * A process that hosts a queue pair of adapter 1 of a named segment: its buffers are memory of its own, registered as that of a process, and
 * it posts receives only when it is asked. It works when it is woken, and otherwise sleeps.
 */
import {
  connectQp,
  endpointOf,
  type Opcode,
  openDevice,
  type QpEndpoint,
  type QpType,
  SendFlag,
} from '../../../src/index.ts'
import { requireLibc } from '../../../src/memory/native/libc.ts'
import { allAccess, patientTiming, Side, timing } from './process-rig.ts'

export interface HostsOptions {
  type: QpType
  srq?: 'hosted'
  bytes: number
  /** Where packets cross a network, and processes wait for a processor. */
  patient?: boolean
}

const context = openDevice(process.argv[2]!)
const { type, srq, bytes, patient } = JSON.parse(process.argv[3]!) as HostsOptions
const { host } = context.device
const { i32, segment } = host
const { mmap } = requireLibc('mmap')
const address = mmap(0, bytes, 3, 0x22, -1, 0)
const side = new Side(context, { type, hosted: true, ...(srq ? { srq } : {}) })
const mr = side.adopt(side.pd.regProcessMr({ pid: process.pid, address, length: bytes }, allAccess))
const local = endpointOf(side.qp)

/** Receives that the program has, but has told nobody of. */
const available: { wrId: number; addr: number; length: number }[] = []
host.refill = () => {
  const next = available.shift()
  if (next) side.postRecv({ wrId: next.wrId, sgList: [{ addr: next.addr, length: next.length, lkey: mr.lkey }] })
}

export type HostsOrder =
  | { connect: QpEndpoint }
  | { join: Uint8Array }
  | { receive: { wrId: number; addr: number; length: number } }
  | { post: { opcode: number; offset: number; length: number; remoteAddr: number; rkey: number; compareAdd?: string } }

process.on('message', (order: HostsOrder) => {
  if ('connect' in order) connectQp(side.qp, local, order.connect, { ...timing, ...(patient ? patientTiming : {}) })
  else if ('join' in order) side.qp.attachMcast(order.join, 0xc001)
  else if ('receive' in order) available.push(order.receive)
  else {
    const { opcode, offset, length, remoteAddr, rkey, compareAdd } = order.post
    side.qp.postSend({
      opcode: opcode as typeof Opcode.Send,
      // What follows a READ must not change what that reads.
      sendFlags: SendFlag.Signaled | SendFlag.Fence,
      sgList: [{ addr: address + offset, length, lkey: mr.lkey }],
      remoteAddr,
      rkey,
      ...(compareAdd === undefined ? {} : { compareAdd: BigInt(compareAdd) }),
    } as never)
  }
  process.send!('done')
})
process.on('disconnect', () => process.exit(0))
process.send!({ endpoint: local, address, rkey: mr.rkey })

const word = segment.workWord
/** Of an adapter on a network. */
const { transport } = context.device as { transport?: { readonly hasMail: boolean } }
for (;;) {
  const seen = Atomics.load(i32, word)
  context.device.progress()
  for (const [what, cq] of [
    ['sent', side.sendCq],
    ['received', side.recvCq],
  ] as const)
    for (const { wrId, status, byteLen } of side.completions(cq)) process.send!({ what, wrId, status, byteLen })
  // As in `beginSleep` of an adapter: another thread that has the adapter's lock has left something before this one looked, and wakes it no more.
  const longestMs = transport?.hasMail ? 1 : 20_000
  // No wait depends on the longest time: what comes meanwhile wakes it.
  await segment.parking.waitInLoop(word, seen, Math.min(context.device.dueInMs!(), longestMs))
}
