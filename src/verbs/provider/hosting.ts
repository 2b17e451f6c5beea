/** Hosted queue pairs: the thread that owns one alone reaches the memory that its requests name, and knows its receives. */
import type { Host } from './host.ts'
import { Qp, qpEngine } from './layout.ts'

/** Returns true if the QP is a hosted one that this thread does not execute for. */
export function isOthers({ i32, segment }: Host, q: number): boolean {
  return i32[q + Qp.engine] === qpEngine.hosted && i32[q + Qp.owner] !== segment.me
}
