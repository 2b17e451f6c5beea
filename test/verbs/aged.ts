/**
 * Objects as long use leaves them: their positions, counts and sequence numbers stand just before they wrap, at 2^31, where a signed
 * number turns negative, or at 2^32; those of packets at 2^24. Objects are aged while nothing uses them: queue pairs in RESET, queues
 * while they are empty.
 */
import type { CompletionQueue, Context, QueuePair, SharedReceiveQueue } from '../../src/index.ts'
import { TransportDevice, TransportQp } from '../../src/transport/layout.ts'
import { layout } from '../../src/verbs/provider/index.ts'

const { Chan, Cq, Cqe, Ctx, Dev, Qp, Srq } = layout

let aged = 0

/** Zero to three steps before a wrap, of both in turn. */
export function beforeWrap(): number {
  const n = aged++
  return ((n & 4) === 0 ? 0x80000000 - (n & 3) : -(n & 3)) | 0
}

/** The same of a PSN, an MSN and an SSN. */
export function beforePsnWrap(): number {
  return (0x1000000 - (aged++ & 3)) & 0xffffff
}

/** What is not each connection's: the epoch, this thread's operations, and the lists of the device. */
function ageContext(context: Context, at: number = beforeWrap()): void {
  const { host, index } = context.device
  const { i32, segment } = host
  const c = host.ctxWord((context as Context & { slot: number }).slot)
  for (const word of [Ctx.eventTail, Ctx.eventHead]) i32[c + word] = at
  i32[segment.operationWord] = at & ~1
  Atomics.store(i32, segment.epochWord, at)
  const record = i32[host.deviceWord(index) + Dev.transport]!
  if (record === 0) return
  const locks = [record + TransportDevice.lock, record + TransportDevice.doorbellLock]
  for (const lock of locks) segment.lock(lock)
  for (const list of ['tx', 'ack', 'doorbell'] as const) {
    const [head, tail] = [record + TransportDevice[`${list}Head`], record + TransportDevice[`${list}Tail`]]
    if (i32[head] === i32[tail]) i32[head] = i32[tail] = at
  }
  for (const lock of locks) segment.unlock(lock)
}

/** Ages a context, and all that is made in it from now on. */
export function aging(context: Context): Context {
  ageContext(context)
  const { createCq, allocPd } = context
  const made = <T>(object: T, age: (object: T) => void): T => {
    age(object)
    return object
  }
  return Object.assign(context, {
    createCq: (...args: Parameters<typeof createCq>) => made(createCq.apply(context, args), (cq) => ageCq(cq)),
    allocPd: () => {
      const pd = allocPd.call(context)
      const { createQp, createSrq } = pd
      return Object.assign(pd, {
        createQp: (...args: Parameters<typeof createQp>) => made(createQp.apply(pd, args), (qp) => ageQp(qp)),
        createSrq: (...args: Parameters<typeof createSrq>) => made(createSrq.apply(pd, args), (srq) => ageSrq(srq)),
      })
    },
  } as Partial<Context>)
}

function ageQp(qp: QueuePair, at: number = beforeWrap()): void {
  const { host, qpWords } = qp.pd.context.device
  const { i32 } = host
  const q = host.qpWord(qp.slot)
  for (const word of ['sqHead', 'sqNext', 'sqTail', 'rqHead', 'rqTail', 'rqTailSeen'] as const) i32[q + Qp[word]] = at
  if (qpWords === 0) return
  const t = i32[q + Qp.wire]!
  for (const word of ['resTail', 'resNext'] as const) i32[t + TransportQp[word]] = at
  // Of both ends of a connection the same, since they count the same messages.
  for (const word of ['msn', 'ssn', 'limit'] as const) i32[t + TransportQp[word]] = 0xfffffe
}

function ageCq(cq: CompletionQueue, at: number = beforeWrap()): void {
  const { host } = cq.context.device
  const { i32 } = host
  const word = host.cqWord(cq.slot)
  for (const each of [Cq.head, Cq.tail, Cq.tailSeen]) i32[word + each] = at
  const mask = i32[word + Cq.mask]!
  for (let i = 0; i <= mask; i++)
    i32[i32[word + Cq.ring]! + ((at + i) & mask) * Cqe.words + Cqe.sequence] = (at + i - mask) | 0
  const channel = i32[word + Cq.channel]!
  if (channel >= 0) i32[host.chanWord(channel) + Chan.sequence] = at
}

function ageSrq(srq: SharedReceiveQueue, at: number = beforeWrap()): void {
  const { host } = srq.pd.context.device
  for (const word of [Srq.head, Srq.tail]) host.i32[host.srqWord(srq.slot) + word] = at
}
