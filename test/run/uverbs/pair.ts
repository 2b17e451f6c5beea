/** Two programs on one door, each with what a test needs, and connected queue pairs. */
import type { Observer } from '../../../src/run/watch/index.ts'
import { openDoor, Program, settle, until } from './program.ts'
import * as v from './verbs.ts'

export interface End {
  program: Program
  /** The descriptor of asynchronous events. */
  events: number
  pd: number
  channel: number
  sendCq: v.Cq
  recvCq: v.Cq
  mr: v.Mr
  qp: v.Qp
  srq: v.Srq | undefined
}

export interface Pair {
  a: End
  b: End
  settle(): void
  until(isSo: () => boolean): void
  close(): void
}

export interface PairOptions extends v.QpInit, v.Connection {
  cqe?: number
  /** Receives of both come from SRQs of so many. */
  srqWr?: number
  connected?: boolean
  /** Who is told of all that happens. */
  observer?: Observer
  /** The time of the door, nanoseconds; it stands still without this. */
  now?: () => number
}

export function makePair(options: PairOptions = {}): Pair {
  const { door, context } = openDoor(options.observer, undefined, options.now)
  const { type = 2, cqe = 64, srqWr = 0, connected = true } = options
  const make = (): End => {
    const program = new Program(door, context)
    const events = program.open()
    const pd = v.allocPd(program)
    const channel = v.createChannel(program)
    const sendCq = v.createCq(program, cqe, channel)
    const recvCq = v.createCq(program, cqe, channel)
    const mr = v.regMr(program, pd, 8192)
    const srq = srqWr > 0 ? v.createSrq(program, pd, srqWr) : undefined
    const qp = v.createQp(program, pd, sendCq, recvCq, { ...options, ...(srq ? { srq } : {}) })
    return { program, events, pd, channel, sendCq, recvCq, mr, qp, srq }
  }
  const a = make()
  const b = make()
  if (connected) {
    v.connect(a.program, a.qp, b.qp.number, { ...options, type })
    v.connect(b.program, b.qp, a.qp.number, { ...options, type })
  }
  return {
    a,
    b,
    settle: () => settle(door),
    until: (isSo) => until(door, isSo),
    close() {
      for (const { program } of [a, b]) program.end()
      door.close()
      context.close()
    },
  }
}
