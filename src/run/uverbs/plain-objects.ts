/** The objects of a program that have no queues. */
import type { AddressHandle, MemoryRegion, MemoryWindow, ProtectionDomain } from '../../verbs/index.ts'

export interface ProgramPd {
  readonly kind: 'pd'
  readonly pd: ProtectionDomain
}

export interface ProgramMr {
  readonly kind: 'mr'
  readonly mr: MemoryRegion
}

export interface ProgramMw {
  readonly kind: 'mw'
  readonly mw: MemoryWindow
}

export interface ProgramAh {
  readonly kind: 'ah'
  readonly ah: AddressHandle
  /** Number by which work requests name it. */
  readonly number: number
}
