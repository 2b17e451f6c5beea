/** Queues of programs: plain ones, or watched ones if there is an observer. */
import type { ProgramContext } from './program-context.ts'
import { ProgramCq } from './program-cq.ts'
import { ProgramQp, type QpParts } from './program-qp.ts'
import { ProgramSrq } from './program-srq.ts'
import { WatchedCq, WatchedQp, WatchedSrq } from './watched.ts'

export function makeQp(context: ProgramContext, slot: number, parts: QpParts): ProgramQp {
  const { station, watch } = context
  if (watch === null) return new ProgramQp(station, slot, parts)
  const { host } = station.waist.context.device
  return new WatchedQp(station, slot, parts, context, watch, { host, qp: parts.qp, seesPeers: watch.seesPeers })
}

export function makeCq(context: ProgramContext, ...init: ConstructorParameters<typeof ProgramCq>): ProgramCq {
  return context.watch === null ? new ProgramCq(...init) : new WatchedCq(context, context.watch, ...init)
}

export function makeSrq(context: ProgramContext, ...init: ConstructorParameters<typeof ProgramSrq>): ProgramSrq {
  return context.watch === null ? new ProgramSrq(...init) : new WatchedSrq(context, context.watch, ...init)
}
