/**
 * The table of keys: memory regions and memory windows by their random 32-bit keys, and how an entry of it begins and ends.
 * `Host.findKey` and `Host.resolve` search it on the data path.
 */
import { VerbsError } from './errors.ts'
import { bury } from './graves.ts'
import type { Host } from './host.ts'
import { eachKey, leaveKeySlot, useKeySlot } from './key-slots.ts'
import { Dev, Key, keyKind, keySlots, Meta, Pd } from './layout.ts'
import { releasePd } from './lifetime.ts'

/**
 * A new entry, which `fill` writes, `Key.kind` last; under the control lock. `counter` is the word of `Dev` that counts
 * objects of its kind. ENOMEM if the device has `max` of them, which are called `what`; `check` throws if its protection
 * domain was closed meanwhile.
 */
export function addKey(
  host: Host,
  device: number,
  counter: number,
  max: number,
  verb: string,
  what: string,
  check: () => void,
  fill: (entry: number) => void,
): number {
  const { i32 } = host
  const used = host.deviceWord(device) + counter
  return host.control(() => {
    check()
    if (i32[used]! >= max) throw new VerbsError('ENOMEM', verb, `all ${max} ${what} of the device are in use`)
    i32[used] = i32[used]! + 1
    i32[host.at.meta + Meta.keysUsed] = i32[host.at.meta + Meta.keysUsed]! + 1
    const entry = takeKeyEntry(host)
    fill(entry)
    return entry
  })
}

/** Never 0 or −1. */
function randomKey(host: Host): number {
  return host.platform.randomInt(1, 0xffffffff) | 0
}

/** A new entry with a random key whose upper 24 bits are unique, under the control lock. `kind` is written by the caller, last. */
function takeKeyEntry(host: Host): number {
  const { i32 } = host
  for (;;) {
    const key = randomKey(host)
    let slot = (key >>> 8) & (keySlots - 1)
    let place = -1
    let unique = true
    // At most half of the entries are used, so that there is a place, and `free` entries remain between the others.
    for (let probes = 0; probes < keySlots; probes++) {
      const entry = host.at.keys + slot * Key.words
      const kind = i32[entry + Key.kind]!
      if (kind === keyKind.free || kind === keyKind.deleted) {
        if (place < 0) place = entry
        if (kind === keyKind.free) break
      } else if (i32[entry + Key.key]! >>> 8 === key >>> 8) {
        unique = false
        break
      }
      slot = (slot + 1) & (keySlots - 1)
    }
    if (!unique) continue
    useKeySlot(host, place)
    i32.fill(0, place + 2, place + Key.words)
    i32[place + Key.key] = key
    return place
  }
}

/** Frees an entry; where nothing follows it in its chain, tombstones before it go too, so that chains stay short. */
function freeKeyEntry(host: Host, entry: number): void {
  const { i32 } = host
  const base = host.at.keys
  const next = (slot: number, step: number): number => (slot + step + keySlots) & (keySlots - 1)
  let slot = (entry - base) / Key.words
  Atomics.store(i32, entry + Key.kind, keyKind.deleted)
  leaveKeySlot(host, entry)
  if (i32[base + next(slot, 1) * Key.words + Key.kind] !== keyKind.free) return
  while (i32[base + slot * Key.words + Key.kind] === keyKind.deleted) {
    i32[base + slot * Key.words + Key.kind] = keyKind.free
    slot = next(slot, -1)
  }
}

/** Takes a region or window out of the key table; afterwards no thread uses it. Windows that are bound to the region are unbound. */
export function destroyKey(host: Host, entry: number): void {
  withdrawKey(host, entry)
  if (host.i32[entry + Key.kind] === keyKind.region && host.i32[entry + Key.region]! > 0) {
    const { i32, at } = host
    const region = (entry - at.keys) / Key.words
    eachKey(host, (window, kind) => {
      if ((kind === keyKind.window1 || kind === keyKind.window2) && i32[window + Key.region] === region)
        unbindWindow(host, window)
    })
    host.segment.quiesce()
  }
  removeKey(host, entry)
}

/** Ends the rights of a region or window; no thread uses them any more, but the entry is still there. */
export function withdrawKey(host: Host, entry: number): void {
  Atomics.store(host.i32, entry + Key.valid, 0)
  host.segment.bumpEpoch()
  host.segment.quiesce()
}

export function removeKey(host: Host, entry: number): void {
  host.control(() => {
    releaseKey(host, entry)
    giveKey(host, entry)
  })
}

/** Removes the key from the counts of its device and its protection domain; unbinds a window. Under the control lock. */
function releaseKey(host: Host, entry: number): void {
  const { i32 } = host
  const isRegion = i32[entry + Key.kind] === keyKind.region
  const used = host.deviceWord(i32[entry + Key.device]!) + (isRegion ? Dev.mrs : Dev.mws)
  i32[used] = i32[used]! - 1
  if (!isRegion) unbindWindow(host, entry)
  releasePd(host, i32[entry + Key.pd]!, isRegion ? Pd.mrs : Pd.mws)
}

/** Frees the entry: another key may use it. Under the control lock. */
export function giveKey(host: Host, entry: number): void {
  const { i32, at } = host
  // In this order: with none in use, the thread that cleans up after this one looks at none.
  freeKeyEntry(host, entry)
  i32[at.meta + Meta.keysUsed] = i32[at.meta + Meta.keysUsed]! - 1
}

/**
 * Takes a region without windows out of use; it is reclaimed later, and with it the memory that begins where it does, if that is `memory`.
 * Until a grace period has passed, other threads may still use it.
 */
export function retireRegion(host: Host, entry: number, memory: boolean): void {
  const { i32, f64, segment } = host
  Atomics.store(i32, entry + Key.valid, 0)
  host.control(() => {
    // Memory of which a region is a part waits for that region as well.
    const bytes = memory ? segment.retireMemory(f64[(entry + Key.addr) >> 1]!) : f64[(entry + Key.length) >> 1]!
    releaseKey(host, entry)
    Atomics.store(i32, entry + Key.kind, keyKind.retired)
    bury(host, 'key', entry, bytes)
  })
}

/** Counts the windows that are bound to a region anew: a thread that was binding or unbinding one was killed. */
export function recountWindows(host: Host, region: number): void {
  const { i32, at } = host
  const bound = at.keys + region * Key.words
  if (region < 0 || i32[bound + Key.kind] !== keyKind.region) return
  let count = 0
  eachKey(host, (window, kind) => {
    if (kind !== keyKind.window1 && kind !== keyKind.window2) return
    if (i32[window + Key.region] === region && i32[window + Key.regionKey] === i32[bound + Key.key]) count++
  })
  Atomics.store(i32, bound + Key.region, count)
}

/** Ends a window's binding. */
export function unbindWindow(host: Host, entry: number): void {
  const { i32 } = host
  const region = Atomics.exchange(i32, entry + Key.region, -1)
  i32[entry + Key.valid] = 0
  i32[entry + Key.qp] = -1
  host.segment.bumpEpoch()
  if (region < 0) return
  const bound = host.at.keys + region * Key.words
  if (i32[bound + Key.key] === i32[entry + Key.regionKey]) Atomics.sub(i32, bound + Key.region, 1)
}
