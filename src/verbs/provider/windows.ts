/**
 * Memory windows as the send queue changes them: BIND_MW, LOCAL_INV, and the window that a peer's SEND_WITH_INV names.
 *
 *     type 1   opens to every QP of its protection domain; binding it again moves it, an empty length closes it
 *     type 2   opens to the QP that bound it; bound again only after LOCAL_INV or the peer's SEND_WITH_INV closed it
 */
import { Access, WcStatus } from './constants.ts'
import type { Host } from './host.ts'
import { unbindWindow } from './keys.ts'
import { Key, keyKind, Qp, Wqe } from './layout.ts'

/** The window that a peer's SEND_WITH_INV may invalidate: only a bound one of type 2 of this very QP; else −1. */
export function invalidable(host: Host, d: number, rkey: number): number {
  const { i32 } = host
  const entry = host.findKey(rkey)
  const permitted = entry >= 0 && isBoundType2(i32, entry, i32[d + Qp.pd]!) && i32[entry + Key.qp] === host.qpSlot(d)
  return permitted ? entry : -1
}

export function localInvalidate(host: Host, q: number, w: number): number {
  const { i32 } = host
  const entry = host.findKey(i32[w + Wqe.immData]!)
  if (entry < 0 || !isBoundType2(i32, entry, i32[q + Qp.pd]!)) return WcStatus.LocQpOpErr
  host.noteWindow(entry)
  unbindWindow(host, entry)
  return WcStatus.Success
}

function isBoundType2(i32: Int32Array, entry: number, pd: number): boolean {
  // IBA o10-37.2.26: only windows of type 2 are invalidated.
  return i32[entry + Key.kind] === keyKind.window2 && i32[entry + Key.valid] === 1 && i32[entry + Key.pd] === pd
}

export function bind(host: Host, q: number, w: number): number {
  const { i32, f64 } = host
  const window = host.findKey(i32[w + Wqe.rkey]!)
  // IBA C10-72: a window is bound by QPs of its protection domain.
  if (window < 0 || i32[window + Key.pd] !== i32[q + Qp.pd]) return WcStatus.MwBindErr
  const kind = i32[window + Key.kind]
  if (kind !== keyKind.window1 && kind !== keyKind.window2) return WcStatus.MwBindErr
  const newKey = i32[w + Wqe.immData]!
  const access = i32[w + Wqe.access]!
  const length = f64[(w + Wqe.length) >> 1]!
  if (newKey >>> 8 !== i32[window + Key.key]! >>> 8) return WcStatus.MwBindErr
  if (kind === keyKind.window2) {
    // IBA o10-37.2.30, o10-37.2.40: a type 2 window is bound once, and to some length; then it must be invalidated. The new
    // key must differ from the old.
    if (i32[window + Key.valid] === 1 || newKey === i32[window + Key.key] || length === 0) return WcStatus.MwBindErr
  } else {
    // IBA o10-36.2.2: a type 1 window is not zero-based.
    if ((access & Access.ZeroBased) !== 0) return WcStatus.MwBindErr
    if (length === 0) {
      host.noteWindow(window)
      unbindWindow(host, window)
      i32[window + Key.key] = newKey
      return WcStatus.Success
    }
  }
  const region = host.findKey(i32[w + Wqe.mrKey]!)
  if (
    region < 0 ||
    i32[region + Key.kind] !== keyKind.region ||
    i32[region + Key.pd] !== i32[q + Qp.pd] ||
    i32[region + Key.valid] !== 1
  )
    return WcStatus.MwBindErr
  const rights = i32[region + Key.access]!
  // IBA C10-73: the region permits windows.
  if ((rights & Access.MwBind) === 0 || (rights & Access.ZeroBased) !== 0) return WcStatus.MwBindErr
  // IBA C10-74: a window to write to needs a region that may be written.
  if ((access & (Access.RemoteWrite | Access.RemoteAtomic)) !== 0 && (rights & Access.LocalWrite) === 0)
    return WcStatus.MwBindErr
  const addr = f64[(w + Wqe.remoteAddr) >> 1]!
  const offset = addr - f64[(region + Key.iova) >> 1]!
  // IBA C10-75: the window lies within the region.
  if (!(offset >= 0 && offset + length <= f64[(region + Key.length) >> 1]!)) return WcStatus.MwBindErr
  host.noteWindow(window)
  unbindWindow(host, window)
  f64[(window + Key.addr) >> 1] = f64[(region + Key.addr) >> 1]! + offset
  f64[(window + Key.length) >> 1] = length
  f64[(window + Key.iova) >> 1] = (access & Access.ZeroBased) !== 0 ? 0 : addr
  i32[window + Key.access] = access
  i32[window + Key.qp] = kind === keyKind.window2 ? host.qpSlot(q) : -1
  i32[window + Key.region] = (region - host.at.keys) / Key.words
  i32[window + Key.regionKey] = i32[region + Key.key]!
  Atomics.add(i32, region + Key.region, 1)
  i32[window + Key.key] = newKey
  Atomics.store(i32, window + Key.valid, 1)
  return WcStatus.Success
}
