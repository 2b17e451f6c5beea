/**
 * Pairing of flows that are the two directions of one connection. A packet names only the QP that it goes to, so the QP that it comes from
 * has to be inferred, in this order of trust:
 *
 *   cm        REQ and REP contain both QP numbers
 *   pingpong  the 52-byte lines that the pingpong programs exchange over TCP do, too
 *   deth      a datagram carries its source QP
 *   ack       a response fits a request: of all flows in the other direction, exactly one has this PSN outstanding
 *   only      nothing else goes in either direction (for UC, which has no responses)
 */
import { psnDiff, Syndrome } from '../wire/index.ts'
import type { Dissection } from './dissect.ts'
import { type Basis, type Flow, mostEarly, Service } from './flow.ts'
import type { FlowTable } from './flow-table.ts'

/** Number of successive responses that match no request after which an inferred pair is dissolved. */
const mostStrangers = 8
const eagerTries = 64

const trust: Record<Basis, number> = { cm: 3, pingpong: 2, deth: 3, ack: 1, only: 0 }

export function join(a: Flow, b: Flow, basis: Basis): void {
  for (const [flow, other] of [
    [a, b],
    [b, a],
  ] as const) {
    if (flow.peer !== undefined && flow.peer !== other) part(flow)
    if (flow.peer === other && flow.basis !== undefined && trust[flow.basis] >= trust[basis]) continue
    flow.peer = other
    flow.basis = basis
    flow.srcQp = other.destQp
    flow.strangers = 0
    flow.mtu = Math.max(flow.mtu, other.mtu)
  }
}

function part(flow: Flow): void {
  const { peer } = flow
  for (const one of [flow, peer]) {
    if (one === undefined) continue
    one.peer = undefined
    one.basis = undefined
    one.strangers = 0
    if (one.service !== Service.UD) one.srcQp = -1
  }
}

/** Searches for the flow of the requests of each response, or checks the one that was inferred. */
export function inferPair(flow: Flow, d: Dissection, flows: FlowTable): void {
  if (flow.peer !== undefined) {
    // A flow that is not followed matches nothing: that is no reason to doubt the pair.
    if (flow.basis !== 'ack' || !flow.peer.started) return
    if (fits(flow.peer, d.psn, true) || psnDiff(d.psn, flow.peer.acked) <= 0) flow.strangers = 0
    else if (isEarly(flow.peer, d.psn)) return
    else if (++flow.strangers > mostStrangers) part(flow)
    return
  }
  // A flow that never finds a peer searches for one at growing intervals.
  if (++flow.tries > eagerTries && (flow.tries & (flow.tries - 1)) !== 0) return
  let found: Flow | undefined
  /** Only flow whose next request this may acknowledge; null if there are several. */
  let early: Flow | undefined | null
  for (const candidate of flows.between(flow.destination, flow.source)) {
    if (candidate.service !== flow.service || candidate.peer !== undefined || !candidate.started) continue
    if (isEarly(candidate, d.psn)) early = early === undefined ? candidate : null
    if (!fits(candidate, d.psn, d.syndrome === Syndrome.PsnSequence)) continue
    // A QP may be connected to itself; another one is more likely.
    if (found !== undefined && found !== flow && candidate !== flow) return
    if (found === undefined || found === flow) found = candidate
  }
  if (found !== undefined) join(flow, found, 'ack')
  // A response that comes too early may have been recorded so; a second one in a row was.
  else if (early && early !== flow && flow.lastAnswer >= 0 && psnDiff(d.psn, flow.lastAnswer) < mostEarly) {
    join(flow, early, 'ack')
    settle(early, flow)
  }
}

/** True if `psn` is just ahead of the requests that the capture has. */
function isEarly(requests: Flow, psn: number): boolean {
  const beyond = psnDiff(psn, requests.next)
  return beyond >= requests.slack && beyond < mostEarly
}

/** Acknowledges what was recorded since a response that came before its pair was known. */
function settle(requests: Flow, { lastAnswer }: Flow): void {
  if (!requests.started || lastAnswer < 0) return
  const answered = psnDiff(lastAnswer, requests.acked)
  if (answered <= 0 || psnDiff(lastAnswer, requests.next) >= 0) return
  requests.overtaken += answered
  requests.acked = lastAnswer
  requests.floorIsGuess = false
}

/** True if `psn` is outstanding in this flow, and the capture has the request. The packet that a NAK requests may be lost before it. */
function fits(requests: Flow, psn: number, mayBeLost: boolean): boolean {
  if (psnDiff(psn, requests.acked) <= 0) return false
  const beyond = psnDiff(psn, requests.next)
  if (beyond >= requests.slack && beyond >= 0) return false
  return requests.outstanding.find(psn) >= 0 || (beyond < 0 && (mayBeLost || requests.reads > 0))
}

/** Joins datagrams, whose source QP is known, with those of the reverse direction. */
export function joinDatagrams(flow: Flow, flows: FlowTable): void {
  const back = flows.find(flow.destination, flow.source, flow.srcQp, Service.UD, flow.destQp)
  if (back !== undefined && back.peer === undefined) join(flow, back, 'deth')
}

/** Joins, at the end, flows that are the only ones in both directions. */
export function joinRest(flows: FlowTable): void {
  // The only flow of a service from one address to another; null where there are more.
  const only = new Map<string, Flow | null>()
  const key = (from: number, to: number, service: number): string => `${from} ${to} ${service}`
  for (const flow of flows.flows) {
    const name = key(flow.source, flow.destination, flow.service)
    only.set(name, only.has(name) ? null : flow)
  }
  for (const flow of flows.flows) {
    if (!joinable(flow) || only.get(key(flow.source, flow.destination, flow.service)) === null) continue
    const back = only.get(key(flow.destination, flow.source, flow.service))
    if (!back || back === flow || !joinable(back)) continue
    join(flow, back, 'only')
    settle(flow, back)
    settle(back, flow)
  }
}

function joinable(flow: Flow): boolean {
  return flow.peer === undefined && flow.service !== Service.UD && flow.service !== Service.CNP
}
