/** Events in the tables of a segment: those of completion channels, and asynchronous ones of a context. */
import { type EventType, WcStatus } from './constants.ts'
import { Chan, Cq, Cqe, Ctx, cqArmed, Meta, Qp, Srq, solicitedFlag } from './layout.ts'
import { slotOf } from './records.ts'
import { SegmentTables } from './tables.ts'

/** Kinds of the object to which an asynchronous event happened. */
export const elementKind = { none: 0, qp: 1, cq: 2, srq: 3, port: 4 } as const

/** The tables of a segment, with the events that are kept in them. Channel and event locks are taken last, alone. */
export class EventTables extends SegmentTables {
  // --- completion channels -----------------------------------------------------------------------------------------

  /** Wakes the thread that waits on the channel of a CQ that broke, so that it polls it and sees. */
  wakeChannel(cq: number): void {
    if (this.i32[cq + Cq.channel]! >= 0) this.fire(cq)
  }

  /** Makes the event of a CQ on its channel and wakes the thread that waits there. */
  protected fire(cq: number): void {
    const { i32, segment } = this
    const slot = i32[cq + Cq.channel]!
    if (slot < 0) return
    const channel = this.chanWord(slot)
    segment.lock(channel + Chan.lock)
    // Looked at again: a CQ whose owner ended leaves its channel under this lock, also while QPs of other threads complete to it.
    if (i32[cq + Cq.channel] !== slot) {
      segment.unlock(channel + Chan.lock)
      return
    }
    i32[cq + Cq.events] = i32[cq + Cq.events]! + 1
    if (i32[cq + Cq.events] === 1) this.#appendToChannel(channel, cq)
    // Unless it was armed again meanwhile. After the event: a thread that is killed before leaves it to `repairEvents`.
    Atomics.compareExchange(i32, cq + Cq.armed, cqArmed.due, cqArmed.none)
    Atomics.add(i32, channel + Chan.sequence, 1)
    Atomics.store(i32, channel + Chan.lock, 0)
    segment.wake(i32[channel + Chan.owner]!)
  }

  /** Puts a CQ at the end of its channel's list; the lock of the channel is held. */
  #appendToChannel(channel: number, cq: number): void {
    const { i32 } = this
    const ref = i32[cq + Cq.ref]!
    const tail = i32[channel + Chan.tail]!
    i32[cq + Cq.next] = 0
    i32[tail !== 0 ? this.cqWord(slotOf(tail)) + Cq.next : channel + Chan.head] = ref
    i32[channel + Chan.tail] = ref
  }

  /**
   * A thread was killed that may have been making an event for a channel or a context of this device, or of any if none is given: repairs
   * both, so that no thread waits in vain.
   */
  repairEvents(device?: number): void {
    const { i32, at, segment } = this
    const channels = new Set<number>()
    for (let slot = 0; slot < i32[at.meta + Meta.cqsUsed]!; slot++) {
      const cq = this.cqWord(slot)
      if (i32[cq + Cq.state] === 0 || i32[cq + Cq.channel]! < 0) continue
      if (device === undefined || i32[cq + Cq.device] === device) channels.add(i32[cq + Cq.channel]!)
    }
    for (const slot of channels) {
      const channel = this.chanWord(slot)
      segment.lock(channel + Chan.lock)
      i32[channel + Chan.head] = 0
      i32[channel + Chan.tail] = 0
      // Under the lock: a CQ that began to use the channel since may have had an event.
      for (let n = 0; n < i32[at.meta + Meta.cqsUsed]!; n++) {
        const cq = this.cqWord(n)
        if (i32[cq + Cq.state] === 0 || i32[cq + Cq.channel] !== slot) continue
        const armed = Atomics.load(i32, cq + Cq.armed)
        // If a thread that lives was faster, the event is due as well.
        if (this.#hasMissed(cq, armed)) Atomics.compareExchange(i32, cq + Cq.armed, armed, cqArmed.due)
        // Of one that lives and makes it just now as well, there are two: that does no harm.
        if (i32[cq + Cq.events] === 0 && Atomics.load(i32, cq + Cq.armed) === cqArmed.due) i32[cq + Cq.events] = 1
        if (i32[cq + Cq.events]! > 0) this.#appendToChannel(channel, cq)
        Atomics.compareExchange(i32, cq + Cq.armed, cqArmed.due, cqArmed.none)
      }
      segment.unlock(channel + Chan.lock)
      this.wakeWaiters(channel)
    }
    for (let slot = 0; slot < i32[at.meta + Meta.contextsUsed]!; slot++) {
      const c = this.ctxWord(slot)
      if (i32[c + Ctx.state] !== 0 && (device === undefined || i32[c + Ctx.device] === device)) this.wakeForEvents(c)
    }
  }

  /** True if a completion waits for which a CQ that is armed so should have had its event: who published it was killed before it looked. */
  #hasMissed(cq: number, armed: number): boolean {
    const { i32 } = this
    if (armed !== cqArmed.any && armed !== cqArmed.solicited) return false
    for (let at = i32[cq + Cq.tail]!; ; at = (at + 1) | 0) {
      const e = i32[cq + Cq.ring]! + (at & i32[cq + Cq.mask]!) * Cqe.words
      if (i32[e + Cqe.sequence] !== ((at + 1) | 0)) return false
      const what = i32[e + Cqe.what]!
      if (armed === cqArmed.any || (what & 0xff) !== WcStatus.Success || ((what >>> 16) & solicitedFlag) !== 0)
        return true
    }
  }

  /** Makes all waits for events of a channel end. */
  wakeWaiters(channel: number): void {
    const { i32, segment } = this
    Atomics.add(i32, channel + Chan.sequence, 1)
    segment.wake(i32[channel + Chan.owner]!)
  }

  /** Takes the next event of a channel: a reference to its CQ, or 0 if there is none. */
  takeChannelEvent(channel: number): number {
    const { i32, segment } = this
    if (i32[channel + Chan.head] === 0) return 0
    segment.lock(channel + Chan.lock)
    const ref = i32[channel + Chan.head]!
    if (ref !== 0) {
      const cq = this.cqWord(slotOf(ref))
      const next = i32[cq + Cq.next]!
      i32[channel + Chan.head] = next
      if (next === 0) i32[channel + Chan.tail] = 0
      i32[cq + Cq.events] = i32[cq + Cq.events]! - 1
      Atomics.add(i32, cq + Cq.unacknowledged, 1)
      // More than one event of the same CQ: it goes to the end of the list.
      if (i32[cq + Cq.events]! > 0) this.#appendToChannel(channel, cq)
    }
    segment.unlock(channel + Chan.lock)
    return ref
  }

  /** Takes a CQ that is being destroyed out of its channel, by the reference that it had. */
  dropChannelEvents(cq: number, ref: number): void {
    const { i32, segment } = this
    if (i32[cq + Cq.channel]! < 0) return
    const channel = this.chanWord(i32[cq + Cq.channel]!)
    segment.lock(channel + Chan.lock)
    let before = 0
    for (let at = i32[channel + Chan.head]!; at !== 0; at = i32[this.cqWord(slotOf(at)) + Cq.next]!) {
      if (at === ref) {
        const next = i32[cq + Cq.next]!
        i32[before !== 0 ? this.cqWord(slotOf(before)) + Cq.next : channel + Chan.head] = next
        if (next === 0) i32[channel + Chan.tail] = before
        break
      }
      before = at
    }
    i32[cq + Cq.events] = 0
    i32[cq + Cq.channel] = -1
    segment.unlock(channel + Chan.lock)
  }

  // --- asynchronous events -----------------------------------------------------------------------------------------

  qpEvent(q: number, type: EventType): void {
    const { i32 } = this
    this.#pushEvent(i32[q + Qp.context]!, type, elementKind.qp, i32[q + Qp.ref]!, i32[q + Qp.number]!)
  }

  cqEvent(cq: number, type: EventType): void {
    const { i32 } = this
    this.#pushEvent(i32[cq + Cq.context]!, type, elementKind.cq, i32[cq + Cq.ref]!, 0)
  }

  srqEvent(srq: number, type: EventType): void {
    const { i32 } = this
    this.#pushEvent(i32[srq + Srq.context]!, type, elementKind.srq, i32[srq + Srq.ref]!, 0)
  }

  /** An event of the whole device, for one of its contexts. */
  deviceEvent(context: number, type: EventType): void {
    this.#pushEvent(context, type, elementKind.none, 0, 0)
  }

  /** An event of the device's only port, for one of its contexts. */
  portEvent(context: number, type: EventType): void {
    this.#pushEvent(context, type, elementKind.port, 1, 0)
  }

  #pushEvent(context: number, type: EventType, kind: number, ref: number, number: number): void {
    const { i32, segment } = this
    const c = this.ctxWord(context)
    if (i32[c + Ctx.state] === 0) return
    segment.lock(c + Ctx.eventLock)
    const tail = i32[c + Ctx.eventTail]!
    if (((tail - Atomics.load(i32, c + Ctx.eventHead)) | 0) >= Ctx.eventSlots) {
      i32[c + Ctx.eventsLost] = i32[c + Ctx.eventsLost]! + 1
      this.count(i32[c + Ctx.device]!, 'events_lost')
    } else {
      const e = c + Ctx.events + (tail & (Ctx.eventSlots - 1)) * 4
      i32[e] = type
      i32[e + 1] = kind
      i32[e + 2] = ref
      i32[e + 3] = number
      Atomics.store(i32, c + Ctx.eventTail, (tail + 1) | 0)
    }
    segment.unlock(c + Ctx.eventLock)
    this.wakeForEvents(c)
  }

  /** Makes the wait for async events of a context end. */
  wakeForEvents(c: number): void {
    const { i32, segment } = this
    Atomics.add(i32, c + Ctx.eventSequence, 1)
    segment.wake(i32[c + Ctx.owner]!)
  }
}
