/** The other end of a connection: its QP, and the memory of it that a request may access. */
import { EventType, type Host, isOthers, layout, QpState } from '../../verbs/provider/index.ts'

const { Qp, Wqe } = layout

/** Returns the same for a request that arrives there now: the first that reaches a QP in RTR raises the event CommEst. */
export function reach(host: Host, q: number): number {
  const { i32 } = host
  const d = connectedTo(host, q)
  if (d >= 0 && i32[d + Qp.state] === QpState.Rtr && Atomics.exchange(i32, d + Qp.commEst, 1) === 0)
    host.qpEvent(d, EventType.CommEst)
  return d
}

/** Returns the connected peer if it can take requests, and this thread can execute them, or −1. */
export function peerOf(host: Host, q: number): number {
  const d = connectedTo(host, q)
  return d >= 0 && isOthers(host, d) ? -1 : d
}

function connectedTo(host: Host, q: number): number {
  const { i32 } = host
  const number = i32[q + Qp.destQpNum]!
  let d = host.qpWord(i32[q + Qp.destSlot]!)
  if (i32[d + Qp.number] !== number) {
    d = host.findQp(number)
    if (d < 0) return -1
    i32[q + Qp.destSlot] = host.qpSlot(d)
  }
  if (!canRespond(host, d)) return -1
  if (
    i32[d + Qp.type] !== i32[q + Qp.type] ||
    i32[d + Qp.device] !== i32[q + Qp.destDevice] ||
    i32[d + Qp.destQpNum] !== i32[q + Qp.number]
  )
    return -1
  return d
}

/** True if a QP is in a state in which requests reach it: RTR, RTS, SQD or SQE. */
export function canRespond(host: Host, d: number): boolean {
  // Atomic: the attributes that are read next are those of this state.
  const state = Atomics.load(host.i32, d + Qp.state)
  return state >= QpState.Rtr && state !== QpState.Err
}

/**
 * Returns the location in the segment of the remote range of a one-sided request at `w`; negative if the peer does not permit it, or the
 * range is in another process.
 */
export function remoteRange(host: Host, w: number, d: number, length: number, access: number): number {
  const { i32, f64 } = host
  const addr = f64[(w + Wqe.remoteAddr) >> 1]!
  return host.resolve(i32[w + Wqe.rkey]!, i32[d + Qp.pd]!, addr, length, access, host.qpSlot(d))
}
