/** Asynchronous events as a program reads them: the element, what happened to it, 16 bytes. */
import { EventType } from '../../verbs/index.ts'

/** `element` is the handle that the program gave the object, or the number of a port. */
export function asyncEvent(element: bigint, type: number): Uint8Array {
  const bytes = new Uint8Array(16)
  const view = new DataView(bytes.buffer)
  view.setBigUint64(0, element, true)
  view.setUint32(8, type, true)
  return bytes
}

/** Events of a queue pair. */
export const qpEvents: ReadonlySet<number> = new Set([
  EventType.QpFatal,
  EventType.QpReqErr,
  EventType.QpAccessErr,
  EventType.CommEst,
  EventType.SqDrained,
  EventType.PathMig,
  EventType.PathMigErr,
  EventType.QpLastWqeReached,
])

/** Events of a shared receive queue. */
export const srqEvents: ReadonlySet<number> = new Set([EventType.SrqErr, EventType.SrqLimitReached])
