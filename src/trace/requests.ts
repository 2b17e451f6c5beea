/**
 * Follows the requester: the next PSN, and packets that are left out, retransmitted, or sent although they are acknowledged. RC and XRC
 * number requests and leave room for the responses of a READ; UC numbers packets.
 */
import { OpBit, psnDiff, Reth, u32 } from '../wire/index.ts'
import { type Dissection, rethOffset } from './dissect.ts'
import { type Flow, farthest, mostEarly, Passed, Service } from './flow.ts'
import { RequestFlag } from './outstanding.ts'
import { Mark, type Verdict } from './verdict.ts'

const smallestMtu = 256

export function trackRequest(flow: Flow, bytes: Uint8Array, number: number, d: Dissection, v: Verdict): void {
  const { bits, psn } = d
  if ((bits & (OpBit.First | OpBit.Middle)) !== 0 && d.payloadLength > flow.mtu) learnMtu(flow, d.payloadLength)
  flow.requestPackets++
  if (!flow.started) begin(flow, psn)
  let ahead = psnDiff(psn, flow.next)
  if (ahead > farthest + flow.slack || ahead < -farthest - spanOf(flow)) {
    flow.restarts++
    v.marks |= Mark.Restart
    flow.begin(psn, true)
    ahead = 0
  }
  const reliable = flow.service !== Service.UC
  if (ahead < 0) {
    // The first packet in the capture may have overtaken this one.
    const isFirst = psnDiff(psn, flow.floor) < 0 && (flow.floorIsGuess || psnDiff(psn, flow.acked) > 0)
    if (isFirst && flow.isResumed) {
      if (!reliable) return
      v.marks |= Mark.Retransmission
      flow.retransmissions++
      return
    }
    if (isFirst) flow.untold += flow.reachBack(psn)
    const seen = flow.outstanding.find(psn)
    if (seen >= 0) v.refersTo = flow.outstanding.packetOf(seen)
    const passed = reliable && seen < 0 && psnDiff(flow.next, psn) <= reach(flow) ? flow.passedOver(psn) : Passed.No
    if (passed === Passed.Acknowledged) {
      v.marks |= Mark.Overtaken
      flow.overtaken++
      remember(flow, number, d, v)
      count(flow, bits, d)
      return
    }
    if (reliable && psnDiff(psn, flow.acked) <= 0 && passed === Passed.No) {
      v.marks |= Mark.Retransmission | Mark.Duplicate
      flow.retransmissions++
      flow.duplicates++
      return
    }
    // Beyond the ring's reach nothing is known: it was sent, as all before it.
    if (seen >= 0 || (!isFirst && psnDiff(flow.next, psn) > flow.outstanding.capacity)) {
      v.marks |= reliable ? Mark.Retransmission : Mark.Retransmission | Mark.Duplicate
      flow.retransmissions++
      if (!reliable) flow.duplicates++
      return
    }
    v.marks |= Mark.Late
    flow.late++
    v.missing = flow.untold
    flow.untold = 0
  } else {
    if (ahead > flow.slack) {
      v.marks |= Mark.Gap
      v.missing = ahead - flow.slack
      flow.gaps++
      flow.missing += v.missing
      flow.passOver((flow.next + flow.slack) & 0xffffff, (psn - 1) & 0xffffff, true)
    }
    advance(flow, bytes, d)
  }
  if (reliable || ahead < 0) remember(flow, number, d, v)
  else {
    // Without acknowledgements there is no window; a short memory finds duplicates.
    flow.outstanding.put(psn, 63, number, v.timeNs, flagsOf(d))
    flow.acked = psn
  }
  count(flow, bits, d)
}

/** Begins with the first request that the capture has, unless an acknowledgement of it was recorded before. */
function begin(flow: Flow, psn: number): void {
  flow.begin(psn, true)
  const { peer } = flow
  if (peer === undefined || peer.lastAnswer < 0) return
  const early = psnDiff(peer.lastAnswer, psn)
  if (early < 0 || early >= mostEarly) return
  flow.passOver(psn, peer.lastAnswer, false)
  flow.acked = peer.lastAnswer
  flow.next = (flow.acked + 1) & 0xffffff
  flow.floorIsGuess = false
  peer.lastAnswer = -1
}

/** Returns the number of PSNs before the next one of which the ring knows if they were seen. */
function reach({ outstanding }: Flow): number {
  return Math.max(outstanding.capacity, mostEarly)
}

function remember(flow: Flow, number: number, d: Dissection, v: Verdict): void {
  const { next, acked, outstanding } = flow
  outstanding.put(d.psn, Math.max(psnDiff(next, acked), psnDiff(next, d.psn)), number, v.timeNs, flagsOf(d))
}

function flagsOf({ bits, ackReq }: Dissection): number {
  const isLast = (bits & (OpBit.Last | OpBit.Only)) !== 0
  const isRead = (bits & OpBit.ReadRequest) !== 0
  return (isLast ? RequestFlag.Last : 0) | (ackReq ? RequestFlag.AckReq : 0) | (isRead ? RequestFlag.Read : 0)
}

/** Moves `next` past this request. */
function advance(flow: Flow, bytes: Uint8Array, d: Dissection): void {
  flow.slack = 0
  if ((d.bits & OpBit.ReadRequest) === 0) {
    flow.moveTo((d.psn + 1) & 0xffffff)
    return
  }
  const length = u32(bytes, rethOffset(d.bits, d.bth) + Reth.dmaLength)
  const mtu = flow.mtu || flow.peer?.mtu || 0
  if (mtu > 0 || length <= smallestMtu) {
    flow.moveTo((d.psn + Math.max(1, Math.ceil(length / (mtu || smallestMtu)))) & 0xffffff)
    return
  }
  // At least as many responses as with the largest MTU, at most as many as with the smallest.
  const least = Math.max(1, Math.ceil(length / 4096))
  flow.moveTo((d.psn + least) & 0xffffff)
  flow.slack = Math.ceil(length / smallestMtu) - least
}

function learnMtu(flow: Flow, length: number): void {
  flow.mtu = length
  if (flow.peer !== undefined && flow.peer.mtu < length) flow.peer.mtu = length
}

function spanOf(flow: Flow): number {
  return Math.max(0, psnDiff(flow.next, flow.acked))
}

function count(flow: Flow, bits: number, d: Dissection): void {
  flow.requestBytes += d.payloadLength
  if ((bits & (OpBit.Last | OpBit.Only)) === 0) return
  if ((bits & OpBit.Send) !== 0) flow.sends++
  else if ((bits & OpBit.Write) !== 0) flow.writes++
  else if ((bits & OpBit.ReadRequest) !== 0) flow.reads++
  else if ((bits & OpBit.Atomic) !== 0) flow.atomics++
  else if ((bits & OpBit.AtomicWrite) !== 0) flow.atomicWrites++
  else if ((bits & OpBit.Flush) !== 0) flow.flushes++
}
