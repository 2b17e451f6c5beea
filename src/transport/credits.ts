/**
 * End-to-end flow control of RC: with each acknowledgement the responder reports how many receives it has, so that a requester does not
 * send a request that would find none. Off unless a connection manager has set `TransportQp.flowControl` at both ends (CM REQ and REP
 * agree on it); otherwise ACKs carry the code for "no credits", and the credits of received ACKs are ignored.
 *
 * Requests are numbered in the order they are sent (SSN, from 1; a READ counts as many as the chunks in which it is requested); the
 * responder counts those it has completed (MSN). It allows requests up to MSN + credits. A request that takes a receive and is beyond
 * that is limited: when all requests before it are acknowledged, its first packet is sent alone and requests an ACK, which brings new
 * credits, or it is answered with an RNR NAK; the rest follows the ACK. Other requests are sent in any case. A responder may repeat its
 * newest ACK to grant more.
 *
 * InfiniBand Architecture volume 1, 9.7.7.2.
 */
import { hasOpcode, layout, receiveOpcodes } from '../verbs/provider/index.ts'
import {
  AethKind,
  aethKindBits,
  aethValueBits,
  creditCode,
  creditsOf,
  noCreditCode,
  psnAdd,
  psnDiff,
  Syndrome,
} from '../wire/index.ts'
import { SendProgress, TransportQp } from './layout.ts'

const { Qp, Wqe } = layout

/** Maximum number of receives that a credit code stands for; more are not reported. */
const mostCredits = creditsOf(noCreditCode - 1)
const codes: Uint8Array = new Uint8Array(1024)
for (let code = 0; code < noCreditCode; code++) codes.fill(code, creditsOf(code))

/** True if the request at `wqe` takes a receive for which there is no credit. */
export function isLimited(i32: Int32Array, t: number, wqe: number): boolean {
  if (i32[t + TransportQp.flowControl] === 0 || i32[t + TransportQp.unlimited] === 1) return false
  return (
    hasOpcode(receiveOpcodes, i32[wqe + Wqe.opcode]!) &&
    psnDiff(i32[wqe + SendProgress.ssn]!, i32[t + TransportQp.limit]!) > 0
  )
}

/** True if the packet `txPsn` of a limited request at `wqe` has to wait for an ACK. */
export function lacksCredit(i32: Int32Array, t: number, wqe: number): boolean {
  if (!isLimited(i32, t, wqe)) return false
  // IBA 9.7.7.2: without a credit one packet may go, which requests an ACK.
  const first = i32[wqe + SendProgress.firstPsn]!
  if (i32[t + TransportQp.txPsn] === first) return i32[t + TransportQp.una] !== first
  return psnDiff(i32[t + TransportQp.una]!, first) <= 0
}

/** Applies the credits in an ACK's AETH; late ACKs bring nothing new. True if it grants more than those before it. */
export function grant(i32: Int32Array, t: number, syndrome: number, msn: number): boolean {
  if (i32[t + TransportQp.flowControl] === 0 || (syndrome & aethKindBits) !== AethKind.Ack) return false
  const code = syndrome & aethValueBits
  const before = i32[t + TransportQp.unlimited]!
  i32[t + TransportQp.unlimited] = code === noCreditCode ? 1 : 0
  // Without credits the limit follows the acknowledged requests: otherwise it would fall half of the circle back one day, and seem to be
  // ahead.
  // IBA 9.7.7.2: what an ACK grants counts from its MSN on.
  const limit = psnAdd(msn, code === noCreditCode ? 0 : creditsOf(code))
  if (psnDiff(limit, i32[t + TransportQp.limit]!) <= 0) return code === noCreditCode && before === 0
  i32[t + TransportQp.limit] = limit
  return code !== noCreditCode || before === 0
}

/** Returns the syndrome of an ACK of QP `q`. An SRQ's receives belong to no particular QP: they are not reported. */
export function ackSyndrome(i32: Int32Array, q: number, t: number): number {
  // IBA 9.7.7.2: a QP with an SRQ grants no credits.
  if (i32[t + TransportQp.flowControl] === 0 || i32[q + Qp.srq]! >= 0) return Syndrome.AckNoCredits
  const credits = (Atomics.load(i32, q + Qp.rqHead) - i32[q + Qp.rqTail]!) | 0
  return credits < codes.length ? codes[credits]! : creditCode(Math.min(credits, mostCredits))
}
