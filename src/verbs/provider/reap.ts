/** The clean-up after a thread that ended without closing its objects. */
import { deviceAt } from './device.ts'
import { leaveFarewell } from './farewells.ts'
import { notifyAgents } from './gsi-agents.ts'
import type { Host } from './host.ts'
import { eachKey } from './key-slots.ts'
import { destroyKey } from './keys.ts'
import { Chan, Cq, Ctx, Dev, Key, keyKind, Meta, maxDevices, Pd, Qp, Srq } from './layout.ts'
import { destroyCq, destroyPd, destroySrq, recount, retireQp } from './lifetime.ts'
import { reapPorts } from './ports.ts'
import { sweepNow } from './reclaim.ts'
import { giveRecord } from './records.ts'

/**
 * Destroys everything that a thread owned, as the kernel destroys the objects of a process that ends, and wakes all waiting threads. The
 * objects are counted at the first device of the segment, and at each other one that the thread had open.
 */
export function reapAttachment(host: Host, owner: number): void {
  const { i32, at } = host
  let reaped = 0
  // First the work that other threads wait for: the thread may have been driving a device.
  for (let index = 0; index < maxDevices; index++)
    if (i32[host.deviceWord(index) + Dev.transport] !== 0) deviceAt(host, index)?.takeOver?.()
  const each = (
    table: number,
    words: number,
    used: number,
    stateWord: number,
    ownerWord: number,
    destroy: (word: number) => void,
  ): void => {
    for (let slot = 0; slot < i32[at.meta + used]!; slot++) {
      const word = table + slot * words
      if (i32[word + stateWord] !== 0 && i32[word + ownerWord] === owner) {
        destroy(word)
        reaped++
      }
    }
  }
  let left = false
  each(at.qps, Qp.words, Meta.qpsUsed, Qp.number, Qp.owner, (q) => {
    left = leaveFarewell(host, q) || left
    retireQp(host, q)
  })
  if (left) notifyAgents(host)
  each(at.srqs, Srq.words, Meta.srqsUsed, Srq.state, Srq.owner, (srq) => destroySrq(host, srq, true))
  each(at.cqs, Cq.words, Meta.cqsUsed, Cq.state, Cq.owner, (cq) => destroyCq(host, cq, true))
  if (i32[at.meta + Meta.keysUsed]! > 0) {
    eachKey(host, (entry, kind) => {
      if (kind === keyKind.retired || i32[entry + Key.owner] !== owner) return
      destroyKey(host, entry)
      reaped++
    })
  }
  each(at.channels, Chan.words, Meta.channelsUsed, Chan.state, Chan.owner, (chan) =>
    host.control(() => giveRecord(host, 'channel', chan)),
  )
  each(at.pds, Pd.words, Meta.pdsUsed, Pd.state, Pd.owner, (pd) => {
    const device = i32[host.ctxWord(i32[pd + Pd.context]!) + Ctx.device]!
    Atomics.sub(i32, host.deviceWord(device) + Dev.ahs, i32[pd + Pd.ahs]!)
    destroyPd(host, pd, true)
  })
  const devices = new Set<number>()
  each(at.contexts, Ctx.words, Meta.contextsUsed, Ctx.state, Ctx.owner, (c) => {
    devices.add(i32[c + Ctx.device]!)
    host.control(() => giveRecord(host, 'context', c))
  })
  recount(host)
  // Its memory is about to be freed.
  sweepNow(host)
  // It may have ended while it made an event, or between an event and the wake for it, or with work pending that other threads can continue.
  host.repairEvents()
  for (let slot = 0; slot < i32[at.meta + Meta.channelsUsed]!; slot++) {
    const chan = host.chanWord(slot)
    if (i32[chan + Chan.state] !== 0) host.wakeWaiters(chan)
  }
  for (const index of devices) deviceAt(host, index)?.closeUnused?.()
  reaped += reapPorts(host, owner)
  for (const index of devices.add(0)) for (let i = 0; i < reaped; i++) host.count(index, 'stale_objects_reaped')
}
