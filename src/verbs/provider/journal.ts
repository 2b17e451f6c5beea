/**
 * Next action of the holder of a device's lock that may be done only once, so that the thread that takes the lock over, if the holder is
 * killed, can see how far it came. Plain stores in program order are enough: a thread that finds the holder dead sees all its stores.
 *
 *     stage    interrupted operation                 action of the next holder
 *     packet   a packet of the peer is executed      sets the QP back to before it: the peer sends it again
 *     receive  a receive completes                   publishes the completion, if that is not there yet
 *     send     a request completes                   likewise
 *     window   a window is bound or invalidated      binds it anew, or invalidates it
 *     atomic   an atomic is executed                 looks in memory whether it was
 *
 * Completions are finished here, the others by transport/takeover.ts.
 */
import type { Host } from './host.ts'
import { Cq, Cqe, cqState, Journal, journalStage, Qp } from './layout.ts'
import { slotOf } from './records.ts'

/** The QP that the journal names, −1 if it has been destroyed. */
export function journalQp(host: Host, journal: number): number {
  const ref = host.i32[journal + Journal.qp]!
  const q = host.qpWord(slotOf(ref))
  return host.i32[q + Qp.ref] === ref && host.i32[q + Qp.number] !== 0 ? q : -1
}

/**
 * Finishes the completion in the journal. False if its CQ overran. This thread's own journal may be the same one: if it is
 * killed as well, the next one finds it as it was.
 */
export function finishCompletion(host: Host, journal: number, q: number): boolean {
  const { i32, f64, segment } = host
  const send = i32[journal + Journal.stage] === journalStage.send
  const cq = host.cqWord(i32[q + (send ? Qp.sendCq : Qp.recvCq)]!)
  const queue = i32[journal + Journal.queue]!
  if (send) i32[q + Qp.sqNext] = queue
  else if (i32[q + Qp.srq]! < 0) segment.publish(q + Qp.rqTail, queue)
  if (isPublished(host, journal, q, cq)) {
    // It may have died before it made the event; one too many does no harm.
    host.wakeChannel(cq)
    return true
  }
  const e = host.reserve(cq)
  if (e < 0) return false
  // From now on this is the entry to look at.
  i32[journal + Journal.sequence] = (i32[cq + Cq.head]! + 1) | 0
  const what = i32[journal + Journal.what]!
  host.commit(
    cq,
    e,
    f64[(journal + Journal.wrId) >> 1]!,
    what & 0xff,
    (what >> 8) & 0xff,
    what >>> 16,
    i32[journal + Journal.byteLen]!,
    i32[journal + Journal.immData]!,
    q,
    i32[journal + Journal.srcQpOrReleases]!,
    i32[journal + Journal.solicited] === 1,
  )
  return true
}

/** Returns true if the completion in the journal is in the CQ, or was: another thread may have taken the lock of the CQ, and its entry. */
function isPublished(host: Host, journal: number, q: number, cq: number): boolean {
  const { i32, f64 } = host
  if (i32[cq + Cq.state] === cqState.dead) return true
  const sequence = i32[journal + Journal.sequence]!
  const e = i32[cq + Cq.ring]! + ((sequence - 1) & i32[cq + Cq.mask]!) * Cqe.words
  // Its entry is another's by now, so that it was polled.
  if (i32[e + Cqe.sequence] !== sequence) return ((i32[cq + Cq.head]! - sequence) | 0) >= 0
  return (
    i32[e + Cqe.qpSlot] === host.qpSlot(q) &&
    i32[e + Cqe.what] === i32[journal + Journal.what] &&
    f64[(e + Cqe.wrId) >> 1] === f64[(journal + Journal.wrId) >> 1]
  )
}
