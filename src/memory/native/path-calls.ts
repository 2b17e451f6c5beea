/**
 * Calls on paths whose results stay as the kernel writes them, for programs that are to get just these bytes: struct stat and struct statx
 * differ between processors and kernels, and no code here needs to know their layout.
 */
import { libc, nativeScratch, requireLibc } from './libc.ts'
import { callNumber } from './system-calls.ts'

const AT_FDCWD = 0xffffff9c
const pathBytes = 4096
/** struct statx. */
export const statxBytes = 256

const path = libc === null ? null : nativeScratch(pathBytes)
const pathAddress = path?.address ?? 0
const result = libc === null ? null : nativeScratch(pathBytes)
const resultAddress = result?.address ?? 0

/** Bytes that the last of these calls has written. */
export const pathResult: Uint8Array = result?.u8 ?? new Uint8Array(0)

const pathRoom = path?.u8.subarray(0, pathBytes - 1) ?? new Uint8Array(0)
const encoder = new TextEncoder()

function setPath(text: string): void {
  const { written } = encoder.encodeInto(text, pathRoom)
  path!.u8[written] = 0
}

function call(name: Parameters<typeof callNumber>[0], a: number, b: number, c: number, d: number): number {
  const { syscall, koffi } = requireLibc(name)
  const value = Number(syscall(callNumber(name), AT_FDCWD, pathAddress, a, b, c, d))
  return value >= 0 ? value : -koffi.errno()
}

/** newfstatat(2): 0, or a negative errno. */
export function statPath(of: string, flags: number): number {
  setPath(of)
  return call('newfstatat', resultAddress, flags, 0, 0)
}

/** Result of `identify`: file system and inode. */
export const fileIdentity: { dev: number; ino: number } = { dev: 0, ino: 0 }

/**
 * Writes the file system and inode of file descriptor `fd` of a thread, or of this process, into `fileIdentity`; false if there is no such
 * descriptor. For calls that come for every message: fs.statSync makes a dozen objects.
 */
export function identify(thread: number | 'self', fd: number): boolean {
  if (statPath(`/proc/${thread}/fd/${fd}`, 0) !== 0) return false
  const { u32 } = result!
  // struct stat begins with them, 64 bits each, on all processors.
  fileIdentity.dev = u32[0]! + u32[1]! * 2 ** 32
  fileIdentity.ino = u32[2]! + u32[3]! * 2 ** 32
  return true
}

/** statx(2). */
export function statxPath(of: string, flags: number, mask: number): number {
  setPath(of)
  return call('statx', flags, mask, resultAddress, 0)
}

/** faccessat2(2). */
export function accessPath(of: string, mode: number, flags: number): number {
  setPath(of)
  return call('faccessat2', mode, flags, 0, 0)
}

/** readlinkat(2): the length, which is `room` at most. */
export function readLinkPath(of: string, room: number): number {
  setPath(of)
  return call('readlinkat', resultAddress, Math.min(room, pathBytes), 0, 0)
}

/** openat(2): a descriptor, or a negative errno. */
export function openPath(of: string, flags: number): number {
  setPath(of)
  return call('openat', flags, 0, 0, 0)
}
