/** Reasons why a key does not give access to a range: the detail of a failed `Host.resolve`, in words, for diagnosis. */
import { Access } from './constants.ts'
import type { Host } from './host.ts'
import { Key, keyKind } from './layout.ts'

const rights: readonly (readonly [bit: number, name: string])[] = [
  [Access.LocalWrite, 'IBV_ACCESS_LOCAL_WRITE'],
  [Access.RemoteWrite, 'IBV_ACCESS_REMOTE_WRITE'],
  [Access.RemoteRead, 'IBV_ACCESS_REMOTE_READ'],
  [Access.RemoteAtomic, 'IBV_ACCESS_REMOTE_ATOMIC'],
  [Access.FlushGlobal, 'IBV_ACCESS_FLUSH_GLOBAL'],
  [Access.FlushPersistent, 'IBV_ACCESS_FLUSH_PERSISTENT'],
]

const namesOf = (access: number): string =>
  rights
    .filter(([bit]) => (access & bit) !== 0)
    .map(([, name]) => name)
    .join('|') || '0'

const hex = (value: number): string => `0x${value.toString(16)}`

/** Returns the reason for these arguments of `Host.resolve`; null where it would permit them now. */
export function refusalOf(
  host: Host,
  key: number,
  pd: number,
  addr: number,
  length: number,
  access: number,
  qp: number,
): string | null {
  const { i32, f64 } = host
  const entry = host.findKey(key)
  if (entry < 0) return 'nothing has this key: it was never given out, or its region or window is gone'
  const kind = i32[entry + Key.kind]!
  const what = kind === keyKind.region ? 'region' : 'window'
  if (i32[entry + Key.pd] !== pd) return `its ${what} is of another protection domain than the queue pair`
  if (Atomics.load(i32, entry + Key.valid) !== 1) return `its ${what} is not valid: a window has to be bound first`
  const missing = access & ~i32[entry + Key.access]!
  if (missing !== 0) return `its ${what} lacks ${namesOf(missing)}; it has ${namesOf(i32[entry + Key.access]!)}`
  if (kind !== keyKind.region && qp < 0) return 'it is the key of a window, which only remote access can use'
  if (kind === keyKind.window2 && i32[entry + Key.qp] !== qp) return 'its window is bound on another queue pair'
  const first = f64[(entry + Key.iova) >> 1]!
  const size = f64[(entry + Key.length) >> 1]!
  if (addr < first || addr + length > first + size)
    return `its ${what} has the ${size} bytes from ${hex(first)} to ${hex(first + size - 1)}`
  return null
}
