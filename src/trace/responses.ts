/** Follows the responder: the requests that its responses acknowledge, reject or repeat, and the latencies. */
import { AethKind, aethKindBits, aethValueBits, OpBit, psnDiff } from '../wire/index.ts'
import type { Dissection } from './dissect.ts'
import { type Flow, farthest } from './flow.ts'
import { RequestFlag } from './outstanding.ts'
import { Mark, type Verdict } from './verdict.ts'

const otherNak = 5

/** Tracks a response: `flow` carries it; the peer of `flow` carries the requests, if it is known which flow that is. */
export function trackResponse(flow: Flow, d: Dissection, v: Verdict): void {
  const { bits, psn } = d
  const requests = flow.peer
  const isAck = (bits & OpBit.Ack) !== 0
  const kind = d.syndrome & aethKindBits
  const rejects = isAck && kind !== AethKind.Ack
  if ((bits & OpBit.ReadResponse) !== 0) {
    flow.readResponses++
    // First and middle responses are as long as the path MTU.
    if ((bits & (OpBit.First | OpBit.Middle)) !== 0 && requests !== undefined && requests.mtu < d.payloadLength) {
      requests.mtu = d.payloadLength
      if (flow.mtu < d.payloadLength) flow.mtu = d.payloadLength
    }
  } else if ((bits & OpBit.AtomicAck) !== 0) flow.atomicAcks++
  else if (!rejects) flow.acks++
  else if (kind === AethKind.RnrNak) {
    flow.rnrNaks++
    v.marks |= Mark.RnrNak
  } else {
    flow.naks[Math.min(d.syndrome & aethValueBits, otherNak)]!++
    v.marks |= Mark.Nak
  }
  // A NAK acknowledges everything before the packet that it rejects.
  const upTo = rejects ? (psn - 1) & 0xffffff : psn
  if (requests?.started !== true) {
    v.marks |= Mark.Unpaired
    flow.lastAnswer = upTo
    return
  }
  const isRead = (bits & OpBit.ReadResponse) !== 0
  if (isRead && (bits & (OpBit.First | OpBit.Only)) !== 0) requests.readStart = psn
  const slot = requests.outstanding.find(isRead ? requests.readStart : psn)
  if (slot >= 0) v.refersTo = requests.outstanding.packetOf(slot)
  const fresh = psnDiff(upTo, requests.acked)
  if (fresh <= 0) {
    if (requests.floorIsGuess) answerBefore(requests, upTo, rejects, v)
    else if (!rejects) repeat(flow, bits, v)
    return
  }
  if (isRead) requests.readBytes += d.payloadLength
  const beyond = psnDiff(upTo, requests.next)
  if (beyond >= 0) {
    if (beyond < requests.slack) {
      // The READ had more responses than the largest MTU would make.
      requests.slack -= beyond + 1
    } else {
      v.marks |= Mark.Unseen
      requests.passOver((requests.next + requests.slack) & 0xffffff, upTo, false)
      requests.slack = 0
    }
    requests.moveTo((upTo + 1) & 0xffffff)
  }
  const rejectedPacket = v.refersTo
  cover(requests, upTo, v)
  if (rejects) {
    // It refers to the packet that it rejects, not to those that it acknowledges implicitly.
    v.refersTo = rejectedPacket
    v.latencyNs = -1
    return
  }
  if (isRead && slot >= 0) {
    v.refersTo = requests.outstanding.packetOf(slot)
    if ((bits & (OpBit.Last | OpBit.Only)) !== 0) {
      v.latencyNs = v.timeNs - requests.outstanding.timeOf(slot)
      requests.latencies.add(v.latencyNs)
    }
  }
}

/** Processes a response that refers to requests before the first one that the capture has. */
function answerBefore(requests: Flow, upTo: number, rejects: boolean, v: Verdict): void {
  if (!rejects) v.marks |= Mark.Unseen
  const before = psnDiff(requests.floor, upTo)
  if (before > farthest) return
  // The packet that a NAK requests is yet to come, and was missing before all that were seen, unless packets passed there that were not
  // followed.
  if (rejects && before > 1 && !requests.isResumed) requests.untold += requests.reachBack((upTo + 1) & 0xffffff)
  requests.acked = upTo
  requests.floorIsGuess = false
}

function repeat(flow: Flow, bits: number, v: Verdict): void {
  v.marks |= Mark.Repeat
  if ((bits & OpBit.Ack) !== 0) flow.ackRepeats++
  else flow.responseRepeats++
}

/** Records that everything up to `upTo` is acknowledged. */
function cover(requests: Flow, upTo: number, v: Verdict): void {
  const { outstanding } = requests
  const count = psnDiff(upTo, requests.acked)
  v.coverFrom = (requests.acked + 1) & 0xffffff
  v.coverTo = upTo
  v.marks |= Mark.Covers
  const looked = Math.min(count, outstanding.capacity)
  for (let back = looked - 1; back >= 0; back--) {
    const slot = outstanding.find((upTo - back) & 0xffffff)
    if (slot < 0) continue
    v.coverPackets++
    const flags = outstanding.flagsOf(slot)
    if ((flags & RequestFlag.Last) !== 0) v.coverMessages++
    v.refersTo = outstanding.packetOf(slot)
    // A READ is not complete before its last response.
    if ((flags & RequestFlag.Read) !== 0 || (flags & RequestFlag.AckReq) === 0) continue
    v.latencyNs = v.timeNs - outstanding.timeOf(slot)
    requests.latencies.add(v.latencyNs)
  }
  requests.acked = upTo
  requests.floorIsGuess = false
}
