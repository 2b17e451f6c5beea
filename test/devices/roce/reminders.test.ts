/** The thread that waits for a device learns of what other threads leave to it: timers, and requests. */
import { afterEach, expect, it, vi } from 'vitest'
import { RoceDev } from '../../../src/devices/roce/layout.ts'
import {
  type Context,
  connectQp,
  endpointOf,
  faults,
  nativeAvailable,
  Opcode,
  openDevice,
  QpType,
  SendFlag,
  sendWr,
} from '../../../src/index.ts'
import { TransportDevice } from '../../../src/transport/layout.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { loopbackDevice } from '../../loopback.ts'
import { connect, type End, makeEnd, until } from '../shm/rig.ts'

const { Dev, Meta } = layout

let open: { close(): void }[] = []
afterEach(() => {
  for (const one of open.splice(0).reverse()) one.close()
})

function pairOn(options: Parameters<typeof openDevice>[1] = {}): { context: Context; from: End } {
  const [context, other] = [openDevice(loopbackDevice(1), options), openDevice(loopbackDevice(2))]
  const [from, to] = [makeEnd(context), makeEnd(other)]
  open = [context, other, from, to]
  connect(from, to, { timeout: 21 })
  return { context, from }
}

const write = (from: End): void =>
  from.qp.postSend(sendWr({ opcode: Opcode.Write, sendFlags: SendFlag.Signaled, sgList: [], remoteAddr: 0, rkey: 0 }))

it.skipIf(!nativeAvailable)('of the timer of a request that was posted while another thread drove', async () => {
  const { context, from } = pairOn()
  const { host, index } = context.device
  const { i32, f64, at } = host
  const dev = host.deviceWord(index)
  const lock = i32[dev + Dev.transport]! + TransportDevice.lock
  await until('a call of the service thread', () => {
    // As if another thread held the lock: the request rings the doorbell.
    if (!host.segment.tryLock(lock)) return false
    write(from)
    Atomics.store(i32, lock, 0)
    // The service thread waits, for longer than the timer.
    f64[(dev + RoceDev.serviceLooksAt) >> 1] = Number.POSITIVE_INFINITY
    Atomics.store(i32, dev + RoceDev.watched, 1)
    const before = Atomics.load(i32, at.meta + Meta.serviceWake)
    context.device.progress()
    return Atomics.load(i32, at.meta + Meta.serviceWake) > before
  })
})

it.skipIf(!nativeAvailable)('of a request that was to wait for more, when nothing is outstanding any more', () => {
  const { context, from } = pairOn({ wrap: [faults({ loss: 0.01 })] })
  const { i32, at } = context.device.host
  const { transport } = context.device as unknown as { transport: { mayBatch(q: number): boolean } }
  const mayBatch = vi.spyOn(transport, 'mayBatch')
  const wakes = (answers: readonly boolean[]): number => {
    for (const answer of answers) mayBatch.mockReturnValueOnce(answer)
    const before = Atomics.load(i32, at.meta + Meta.serviceWake)
    write(from)
    return Atomics.load(i32, at.meta + Meta.serviceWake) - before
  }
  expect(wakes([true, true])).toBe(0)
  expect(wakes([true, false])).toBeGreaterThan(0)
})

it.skipIf(!nativeAvailable)(
  'of the rest of a message that is longer than a turn, where no peer acknowledges it',
  () => {
    const [context, other] = [openDevice(loopbackDevice(1)), openDevice(loopbackDevice(2))]
    const [pd, cq] = [context.allocPd(), context.createCq(4)]
    const qp = pd.createQp({ type: QpType.UC, sendCq: cq, recvCq: cq })
    const bytes = context.alloc(4 << 20)
    const mr = pd.regMr(bytes, 0)
    open = [context, other, pd, cq, mr, qp]
    connectQp(qp, endpointOf(qp), { ...endpointOf(qp), gid: other.queryGid(1, 0) })
    const { i32, at } = context.device.host
    const post = (length: number): number => {
      const before = Atomics.load(i32, at.meta + Meta.serviceWake)
      const sgList = [{ addr: mr.addr, length, lkey: mr.lkey }]
      qp.postSend(sendWr({ opcode: Opcode.Write, sgList, remoteAddr: 0, rkey: 0 }))
      return Atomics.load(i32, at.meta + Meta.serviceWake) - before
    }
    expect(post(1000)).toBe(0)
    expect(post(4 << 20)).toBeGreaterThan(0)
  },
)
