/** The objects that a program has by handle. */
import type { ProgramAh, ProgramMr, ProgramMw, ProgramPd } from './plain-objects.ts'
import type { ProgramCq } from './program-cq.ts'
import type { ProgramQp } from './program-qp.ts'
import type { ProgramSrq } from './program-srq.ts'

export interface Objects {
  pd: ProgramPd
  mr: ProgramMr
  mw: ProgramMw
  ah: ProgramAh
  cq: ProgramCq
  qp: ProgramQp
  srq: ProgramSrq
}

export type Kind = keyof Objects

/** Names of kinds in the man pages. */
export const kindNames: Readonly<Record<Kind, string>> = {
  pd: 'protection domain',
  mr: 'memory region',
  mw: 'memory window',
  ah: 'address handle',
  cq: 'completion queue',
  qp: 'queue pair',
  srq: 'shared receive queue',
}

/** Kinds in the order in which the remaining objects are closed with their file: users before the objects that they use. */
export const kindsByUse: readonly Kind[] = ['mw', 'qp', 'srq', 'cq', 'ah', 'mr', 'pd']
