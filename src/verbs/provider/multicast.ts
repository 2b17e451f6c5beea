/** The table of multicast groups: which queue pairs are attached to each. */
import { VerbsError } from './errors.ts'
import { sameGid, writeGid } from './gid.ts'
import type { Host } from './host.ts'
import { Mcast, Meta, maxMcastEntries, Qp } from './layout.ts'

/**
 * Attaches the QP at `q` to a group, of which `most` QPs may be; `check` throws if the QP was closed meanwhile. EINVAL if it is
 * attached already, ENOMEM if the group or the table is full.
 */
export function joinMcastGroup(host: Host, q: number, gid: Uint8Array, most: number, check: () => void): void {
  const { i32, at } = host
  const slot = host.qpSlot(q)
  host.control(() => {
    check()
    let free = -1
    let groupQps = 0
    const high = i32[at.meta + Meta.mcastHigh]!
    for (let i = 0; i < high; i++) {
      const m = at.mcast + i * Mcast.words
      if (i32[m + Mcast.state] === 0) free = free < 0 ? m : free
      else if (sameGid(i32, m + Mcast.gid, gid)) {
        if (i32[m + Mcast.qpSlot] === slot)
          throw new VerbsError('EINVAL', 'attachMcast', 'this QP is attached to the group already')
        groupQps++
      }
    }
    if (groupQps >= most)
      throw new VerbsError('ENOMEM', 'attachMcast', `the group has ${groupQps} QPs, which is the limit`)
    if (free < 0) {
      if (high >= maxMcastEntries)
        throw new VerbsError('ENOMEM', 'attachMcast', `all ${maxMcastEntries} multicast entries are in use`)
      free = at.mcast + high * Mcast.words
      i32[at.meta + Meta.mcastHigh] = high + 1
    }
    writeGid(i32, free + Mcast.gid, gid)
    i32[free + Mcast.device] = i32[q + Qp.device]!
    i32[free + Mcast.qpSlot] = slot
    i32[free + Mcast.qpNum] = i32[q + Qp.number]!
    Atomics.store(i32, free + Mcast.state, 1)
    i32[q + Qp.mcastRefs] = i32[q + Qp.mcastRefs]! + 1
  })
}

/** Detaches the QP at `q` from a group; false if it was not attached. */
export function leaveMcastGroup(host: Host, q: number, gid: Uint8Array): boolean {
  const { i32, at } = host
  const slot = host.qpSlot(q)
  return host.control(() => {
    for (let i = 0; i < i32[at.meta + Meta.mcastHigh]!; i++) {
      const m = at.mcast + i * Mcast.words
      if (i32[m + Mcast.state] !== 1 || i32[m + Mcast.qpSlot] !== slot || !sameGid(i32, m + Mcast.gid, gid)) continue
      Atomics.store(i32, m + Mcast.state, 0)
      i32[q + Qp.mcastRefs] = i32[q + Qp.mcastRefs]! - 1
      return true
    }
    return false
  })
}

/** Detaches a QP that is being destroyed from all groups, under the control lock; their GIDs. */
export function leaveMcastGroups(host: Host, q: number): Uint8Array[] {
  const { i32, at } = host
  const slot = host.qpSlot(q)
  const gids: Uint8Array[] = []
  for (let i = 0; i < i32[at.meta + Meta.mcastHigh]!; i++) {
    const m = at.mcast + i * Mcast.words
    if (i32[m + Mcast.state] !== 1 || i32[m + Mcast.qpSlot] !== slot) continue
    gids.push(host.u8.slice((m + Mcast.gid) * 4, (m + Mcast.gid) * 4 + 16))
    Atomics.store(i32, m + Mcast.state, 0)
  }
  return gids
}

/**
 * The QP that entry `index` of the table attaches to the group whose GID is at `gid[at]`, four words as in memory, if its
 * device is one from `firstDevice` to before `endDevice`; else −1.
 */
export function mcastMember(
  host: Host,
  index: number,
  gid: Int32Array,
  at: number,
  firstDevice: number,
  endDevice: number,
): number {
  const { i32 } = host
  const m = host.at.mcast + index * Mcast.words
  const device = i32[m + Mcast.device]!
  if (i32[m + Mcast.state] !== 1 || device < firstDevice || device >= endDevice) return -1
  const own = m + Mcast.gid
  for (let word = 0; word < 4; word++) if (i32[own + word] !== gid[at + word]) return -1
  const q = host.qpWord(i32[m + Mcast.qpSlot]!)
  return i32[q + Qp.number] === i32[m + Mcast.qpNum] ? q : -1
}
