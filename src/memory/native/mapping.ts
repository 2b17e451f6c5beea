/**
 * Memory from mmap(2) as ArrayBuffers: shared between processes under a name, or private and backed by huge pages.
 *
 * A named segment appears complete: it is made under a temporary name, given its size, and linked to its own name,
 * so that a process which opens it never sees an empty file, and exactly one of several creators wins.
 *
 * V8 cannot detach an ArrayBuffer whose memory is not its own. So `unmap` gives the memory back at once, but keeps the
 * address range, empty, until the ArrayBuffer and all views on it are collected: a forgotten view then reads zeros
 * instead of ending the process with SIGSEGV, or reading what came to lie there next.
 *
 * Where it can be, a segment is mapped over the pages of a WebAssembly memory (`MAP_FIXED`), whose address range is V8's and stays
 * where it is: instructions of WebAssembly then reach the segment, for copies (copy.ts) and sums.
 */
import { constants } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { basename, dirname } from 'node:path'
import { errnoName, errnos, NativeError, nativeError } from './error.ts'
import { requireLibc } from './libc.ts'
import { gated } from './loading.ts'
import { newWasmMemory, type WasmMemory } from './wasm-memory.ts'

const folder = '/dev/shm'
const hugePageBytes = 2 << 20
const pageBytes = 4096

const PROT_READ_WRITE = 3
const MAP_SHARED = 0x01
const MAP_PRIVATE = 0x02
const MAP_FIXED = 0x10
const MAP_ANONYMOUS = 0x20
const MAP_NORESERVE = 0x4000
const MAP_POPULATE = 0x8000
const MAP_HUGETLB = 0x40000
const MAP_HUGE_2MB = 21 << 26
const MADV_DONTNEED = 4
const MADV_HUGEPAGE = 14
const FALLOC_FL_KEEP_SIZE_PUNCH_HOLE = 3
const LOCK_SH = 1
const LOCK_EX = 2
const LOCK_NB = 4
const LOCK_UN = 8
const MLOCK_ONFAULT = 1

interface Mapping {
  readonly address: number
  readonly lengthBytes: number
  /**
   * Descriptor of the file of shared memory, for giving it memory and taking it back; −1 of private memory. Node owns it: Node closes it
   * when the thread ends.
   */
  readonly fd: number
  /** The address range is that of a WebAssembly memory, which V8 frees. */
  readonly ofV8: boolean
}

const mappings = new WeakMap<ArrayBuffer, Mapping>()
const live = new Set<Mapping>()
let lockNewMappings = false

/** Frees the address range of an unmapped buffer once it is unreachable. */
const ranges = new FinalizationRegistry<Mapping>(({ address, lengthBytes }) => {
  requireLibc('munmap').munmap(address, lengthBytes)
})

let lastBuffer: ArrayBuffer | null = null
let lastBase = 0

/** Address of the first byte of a mapped buffer; throws `EINVAL` for any other buffer. */
export function baseOf(buffer: ArrayBuffer): number {
  if (buffer === lastBuffer) return lastBase
  const mapping = mappings.get(buffer)
  if (mapping === undefined)
    throw new NativeError(
      'EINVAL',
      errnos.EINVAL,
      'mmap',
      'the buffer is not a mapping of this thread, or was unmapped',
    )
  lastBuffer = buffer
  lastBase = mapping.address
  return lastBase
}

export interface SharedMapping {
  readonly buffer: ArrayBuffer
  /** The WebAssembly memory that `buffer` belongs to; null where there is none of this size, or address space is limited. */
  readonly wasm: WasmMemory | null
  /** True if this call made the segment, which is then all zeros. */
  readonly created: boolean
  /** Bytes of the file: more than the length of `buffer`, if only its beginning is mapped. */
  readonly sizeBytes: number
  /** Identity of the segment: another one under the same name has another number. */
  readonly inode: number
}

/**
 * Maps the POSIX shared memory `name` (a plain file name, checked by the caller) for reading and writing.
 * `sizeBytes` counts only for a new segment; an existing one is mapped in its own size. Pages cost memory when they
 * are first touched. An existing one must belong to the effective user and be closed to all others: `EACCES` otherwise.
 * Throws `NativeError`: `ENOENT`, `EEXIST`, `EACCES`, `ENOSPC`, `ENOMEM`, `EOPNOTSUPP` and so on.
 */
export function mapShared(name: string, sizeBytes: number, mode: 'open' | 'create' | 'open-or-create'): SharedMapping {
  requireLibc('mmap')
  // Between a failed open and the creation another process may create, and the other way round; so this tries again.
  for (let attempt = 0; ; attempt++) {
    if (mode !== 'create') {
      const opened = openExisting(name)
      if (opened !== null) return mapFile(name, opened, false)
      if (mode === 'open') throw noSuch(name)
    }
    const created = createNew(name, sizeBytes)
    if (created !== null) return mapFile(name, created, true)
    if (mode === 'create' || attempt === 100)
      throw nativeError('shm_open', 'EEXIST', errnos.EEXIST, `shared memory '${name}' could not be created`)
  }
}

/**
 * Maps only the beginning of existing shared memory: `headBytes` of its size, which is given. Looking into one is cheap then, however
 * large it is: V8 counts what is mapped as memory of its heap, and a GiB more makes it collect garbage several times at once.
 * Throws as `mapShared` does.
 */
export function mapHead(name: string, headBytes: (sizeBytes: number) => number): SharedMapping {
  requireLibc('mmap')
  const opened = openExisting(name)
  if (opened === null) throw noSuch(name)
  return mapFile(name, opened, false, headBytes)
}

function noSuch(name: string): NativeError {
  return nativeError('shm_open', 'ENOENT', errnos.ENOENT, `shared memory '${name}' could not be opened`)
}

/** The file that a name stands for, −1 if there is none. */
export function inodeOf(name: string): number {
  return fs.statSync(`${folder}/${name}`, { throwIfNoEntry: false })?.ino ?? -1
}

/**
 * Takes the name away, if it stands for this file; processes that have the segment mapped keep it. Returns false if there was none.
 */
export function unlinkShared(name: string, inode?: number): boolean {
  try {
    if (inode !== undefined && inodeOf(name) !== inode) return false
    fs.unlinkSync(`${folder}/${name}`)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw fromNode(error, 'shm_unlink', `shared memory '${name}' could not be deleted`)
  }
}

/** Gives the memory of `mapShared` or `mapPrivate` back. The buffer reads as zeros from then on; a second call does nothing. */
export function unmap(buffer: ArrayBuffer): void {
  const mapping = mappings.get(buffer)
  if (mapping === undefined) return
  const { address, lengthBytes, fd, ofV8 } = mapping
  mappings.delete(buffer)
  live.delete(mapping)
  if (fd >= 0) fs.closeSync(fd)
  if (buffer === lastBuffer) lastBuffer = null
  mmap(
    'munmap',
    address,
    lengthBytes,
    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
    -1,
    'the mapping could not be released',
  )
  if (!ofV8) ranges.register(buffer, mapping)
}

/**
 * Makes the system give memory for a range of shared memory now: a store into a page for which there is none when it is first touched ends
 * the process with SIGBUS. The content stays. Throws `NativeError` (`ENOSPC`, `ENOMEM`).
 */
export function commitShared(buffer: ArrayBuffer, byteOffset: number, lengthBytes: number): void {
  const errno = fallocate(buffer, 0, byteOffset, lengthBytes)
  // A file system that does not support this: then a page gets memory when it is touched, or not.
  if (errno === 0 || errno === errnos.EOPNOTSUPP || errno === errnos.ENOSYS) return
  throw nativeError('fallocate', errnoName(errno), errno, `${folder} has no ${lengthBytes} bytes left${spaceLeft()}`)
}

/** Returns the descriptor of the file of shared memory, which the mapping owns. */
export function sharedDescriptor(buffer: ArrayBuffer): number {
  baseOf(buffer)
  return mappings.get(buffer)!.fd
}

/** Gives the memory of a range of shared memory back, whole pages, which then read as zeros; false if that cannot be. */
export function releaseShared(buffer: ArrayBuffer, byteOffset: number, lengthBytes: number): boolean {
  return fallocate(buffer, FALLOC_FL_KEEP_SIZE_PUNCH_HOLE, byteOffset, lengthBytes) === 0
}

/** Returns 0 or an errno. */
function fallocate(buffer: ArrayBuffer, mode: number, byteOffset: number, lengthBytes: number): number {
  const { fallocate: call, koffi } = requireLibc('fallocate')
  baseOf(buffer)
  const { fd } = mappings.get(buffer)!
  for (;;) {
    if (call(fd, mode, byteOffset, lengthBytes) === 0) return 0
    const errno = koffi.errno()
    if (errno !== errnos.EINTR) return errno
  }
}

function spaceLeft(): string {
  try {
    const { blocks, bavail, bsize } = fs.statfsSync(folder)
    const mib = (count: number): string => ((count * bsize) / 2 ** 20).toFixed(0)
    return blocks > 0 ? ` (${mib(bavail)} of ${mib(blocks)} MiB are free)` : ''
  } catch {
    return ''
  }
}

/**
 * Marks the shared memory as used by this thread until it ends or unmaps it, however it ends, also for processes of other containers;
 * memory that this thread has made itself is marked already. False while another thread checks with `isUnused` or `unlinkUnused`.
 */
export function markUsed(buffer: ArrayBuffer): boolean {
  return lockFile(buffer, LOCK_SH)
}

/** Returns true if no thread has marked the shared memory as used; this one has not. */
export function isUnused(buffer: ArrayBuffer): boolean {
  return lockFile(buffer, LOCK_EX) && lockFile(buffer, LOCK_UN)
}

/** Unlinks shared memory that no thread has marked as used; while this runs, no thread can mark it. */
export function unlinkUnused(buffer: ArrayBuffer, name: string, inode: number): boolean {
  if (!lockFile(buffer, LOCK_EX)) return false
  try {
    return unlinkShared(name, inode)
  } finally {
    lockFile(buffer, LOCK_UN)
  }
}

function lockFile(buffer: ArrayBuffer, how: number): boolean {
  const { flock } = requireLibc('flock')
  baseOf(buffer)
  return flock(mappings.get(buffer)!.fd, how | LOCK_NB) === 0
}

/**
 * Gives the memory of whole pages of a shared WebAssembly memory back, which then read as zeros; false if that cannot be.
 * `address` is that of its first byte.
 */
export function releaseWasm(address: number, u8: Uint8Array, byteOffset: number, lengthBytes: number): boolean {
  // Should V8 ever back it by something else than anonymous private memory, the advice would change nothing.
  u8[byteOffset] = 1
  const gone = requireLibc('madvise').madvise(address + byteOffset, lengthBytes, MADV_DONTNEED) === 0
  const zero = u8[byteOffset] === 0
  u8[byteOffset] = 0
  return gone && zero
}

/** Address of the first byte of any buffer that never moves. */
export function addressOf(buffer: ArrayBuffer | SharedArrayBuffer): number {
  return Number(requireLibc('address').koffi.address(new Uint8Array(buffer)))
}

/**
 * Maps what a descriptor stands for, from `byteOffset` on, as the ring of a packet socket; the caller closes the descriptor after
 * `unmap`.
 */
export function mapDescriptor(fd: number, sizeBytes: number, failed: string, byteOffset: number = 0): ArrayBuffer {
  checkSize(sizeBytes)
  checkLength(sizeBytes)
  return adopt(own(mmap('mmap', 0, sizeBytes, MAP_SHARED, fd, failed, byteOffset), sizeBytes), sizeBytes)
}

export interface PrivateMapping {
  readonly buffer: ArrayBuffer
  /** `hugetlb`: reserved huge pages; `thp`: transparent ones were requested from the kernel; false: ordinary pages. */
  readonly hugePages: 'hugetlb' | 'thp' | false
}

/** Anonymous memory of this process with every page present, so that no later access meets a page fault. */
export function mapPrivate(sizeBytes: number, options: { readonly hugePages: boolean }): PrivateMapping {
  const { munmap, madvise } = requireLibc('mmap')
  checkSize(sizeBytes)
  checkLength(sizeBytes)
  const flags = MAP_PRIVATE | MAP_ANONYMOUS
  const what = `${sizeBytes} bytes could not be mapped`
  if (!options.hugePages) {
    const lengthBytes = roundUp(sizeBytes, pageBytes)
    return {
      buffer: adopt(own(mmap('mmap', 0, lengthBytes, flags | MAP_POPULATE, -1, what), lengthBytes), sizeBytes),
      hugePages: false,
    }
  }
  const lengthBytes = roundUp(sizeBytes, hugePageBytes)
  const reserved = tryMmap(0, lengthBytes, flags | MAP_POPULATE | MAP_HUGETLB | MAP_HUGE_2MB, -1)
  if (reserved > 0) return { buffer: touched(adopt(own(reserved, lengthBytes), sizeBytes)), hugePages: 'hugetlb' }

  // A transparent huge page needs an address that is a multiple of its size: map more, cut both ends off.
  const raw = mmap('mmap', 0, lengthBytes + hugePageBytes, flags, -1, what)
  const address = roundUp(raw, hugePageBytes)
  if (address > raw) munmap(raw, address - raw)
  if (raw + hugePageBytes > address) munmap(address + lengthBytes, raw + hugePageBytes - address)
  const asked = madvise(address, lengthBytes, MADV_HUGEPAGE) === 0 && transparentHugePages()
  return { buffer: touched(adopt(own(address, lengthBytes), sizeBytes)), hugePages: asked ? 'thp' : false }
}

/**
 * Locks every mapping of this thread, and those that it makes later. Returns 0 or an errno. Pages are locked when they
 * are first touched (MLOCK_ONFAULT, Linux 4.4), so that a large segment that is mostly untouched stays that way.
 */
export function lockMappings(): number {
  lockNewMappings = true
  for (const { address, lengthBytes } of live) {
    const errno = lockRange(address, lengthBytes)
    if (errno !== 0) return errno
  }
  return 0
}

export function lockRange(address: number, lengthBytes: number): number {
  const { syscall, mlock2Number, koffi } = requireLibc('mlock2')
  return syscall(mlock2Number, address, lengthBytes, MLOCK_ONFAULT, 0, 0, 0) === 0 ? 0 : koffi.errno()
}

/** Returns true if the kernel uses transparent huge pages: madvise succeeds even where an administrator has turned them off. */
function transparentHugePages(): boolean {
  try {
    return !fs.readFileSync('/sys/kernel/mm/transparent_hugepage/enabled', 'latin1').includes('[never]')
  } catch {
    return false
  }
}

function touched(buffer: ArrayBuffer): ArrayBuffer {
  const bytes = new Uint8Array(buffer)
  for (let i = 0; i < bytes.length; i += pageBytes) bytes[i] = 0
  return buffer
}

/** A descriptor of the existing segment, or null. */
function openExisting(name: string): number | null {
  try {
    return fs.openSync(`${folder}/${name}`, fs.constants.O_RDWR | fs.constants.O_NOFOLLOW)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw fromNode(error, 'shm_open', `shared memory '${name}' could not be opened`)
  }
}

/** A descriptor of a new segment with its size, or null if the name is taken. Node opens every file with O_CLOEXEC. */
function createNew(name: string, sizeBytes: number): number | null {
  const what = `shared memory '${name}' of ${sizeBytes} bytes could not be created`
  checkSize(sizeBytes)
  checkLength(sizeBytes)
  const [file, group] = [basename(name), groupOf(name)]
  const inside = group === null ? folder : `${folder}/${group}`
  const temporary = `${inside}/.${file.slice(0, 200)}.${randomBytes(6).toString('hex')}`
  let fd = -1
  try {
    fd = fs.openSync(
      temporary,
      fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_EXCL | fs.constants.O_NOFOLLOW,
      0o600,
    )
    // Whoever made the folder of a group has set the group of what is made in it.
    if (group !== null) fs.fchmodSync(fd, 0o660)
    fs.ftruncateSync(fd, sizeBytes)
    // From its first moment on it is used.
    const { flock, koffi } = requireLibc('flock')
    if (flock(fd, LOCK_SH | LOCK_NB) !== 0) throw nativeError('flock', errnoName(koffi.errno()), koffi.errno(), what)
    fs.linkSync(temporary, `${folder}/${name}`)
    return fd
  } catch (error) {
    if (fd >= 0) fs.closeSync(fd)
    if (codeOf(error) === 'EEXIST') return null
    if (codeOf(error) === 'ENOENT')
      throw new NativeError(
        'ENOENT',
        errnos.ENOENT,
        'shm_open',
        `${what}, because there is no ${inside}: ${group === null ? 'mount a tmpfs there, or use shm0 within one process' : `mkdir -m 2770 ${inside}, and chgrp it`}`,
      )
    // The temporary name is new, so that it is the folder that is not to be written.
    if (codeOf(error) === 'EACCES')
      throw new NativeError(
        'EACCES',
        errnos.EACCES,
        'shm_open',
        `${what}: this account may not make files in ${inside} (it has mode ${group === null ? 1777 : 2770} usually)`,
      )
    throw fromNode(error, 'shm_open', what)
  } finally {
    if (fd >= 0) fs.unlinkSync(temporary)
  }
}

function checkSize(sizeBytes: number): void {
  if (!Number.isSafeInteger(sizeBytes) || sizeBytes <= 0)
    throw new NativeError(
      'EINVAL',
      errnos.EINVAL,
      'mmap',
      `the size must be a positive whole number of bytes, not ${sizeBytes}`,
    )
}

/** Beyond this (4 GiB on Node 20) koffi ends the process instead of throwing. */
function checkLength(sizeBytes: number): void {
  if (sizeBytes > constants.MAX_LENGTH)
    throw new NativeError(
      'EINVAL',
      errnos.EINVAL,
      'mmap',
      `this Node maps at most ${constants.MAX_LENGTH} bytes at a time, not ${sizeBytes}: ask for less, or use Node 22 or later`,
    )
}

function mapFile(name: string, fd: number, created: boolean, headBytes?: (sizeBytes: number) => number): SharedMapping {
  try {
    const stat = fs.fstatSync(fd)
    if (!created) checkTrusted(name, stat)
    const lengthBytes = Math.min(headBytes?.(stat.size) ?? stat.size, stat.size)
    checkLength(lengthBytes)
    const what = `shared memory '${name}' of ${lengthBytes} bytes could not be mapped`
    const wasm = headBytes === undefined ? newWasmMemory(lengthBytes) : null
    const at = wasm === null ? 0 : addressOf(wasm.buffer)
    const address = mmap('mmap', at, lengthBytes, wasm === null ? MAP_SHARED : MAP_SHARED | MAP_FIXED, fd, what)
    const mapping = { address, lengthBytes: roundUp(lengthBytes, pageBytes), fd, ofV8: wasm !== null }
    return {
      buffer: wasm === null ? adopt(mapping, lengthBytes) : remember(wasm.buffer, mapping),
      wasm,
      created,
      sizeBytes: stat.size,
      inode: stat.ino,
    }
  } catch (error) {
    if (created) unlinkShared(name)
    fs.closeSync(fd)
    throw error
  }
}

/**
 * Rejects a file that another user could have prepared, could read or write, or could truncate under its users, which ends them with
 * SIGBUS. Anyone may make files in this folder, so the name proves nothing. The file is checked after it was opened: what is true of the
 * description stays true, because only its owner can change owner, mode and length of such a file.
 */
function checkTrusted(name: string, stat: fs.Stats): void {
  const path = `${folder}/${name}`
  if (!stat.isFile() || stat.size === 0)
    throw new NativeError(
      'EINVAL',
      errnos.EINVAL,
      'mmap',
      `${path} is not a segment (no regular file, or an empty one): delete it`,
    )
  if (groupOf(name) !== null) {
    checkGroup(path, stat)
    return
  }
  const user = process.geteuid?.() ?? stat.uid
  const mode = (stat.mode & 0o777).toString(8)
  if (stat.uid !== user)
    throw new NativeError(
      'EACCES',
      errnos.EACCES,
      'shm_open',
      `${path} belongs to user ${stat.uid} (mode ${mode}) and this program runs as user ${user}, which does not trust it: ` +
        'run all programs as one user, use another name, or delete the file',
    )
  if ((stat.mode & 0o066) !== 0)
    throw new NativeError(
      'EACCES',
      errnos.EACCES,
      'shm_open',
      `${path} of user ${stat.uid} has mode ${mode}, so other users can read or write it: chmod 600 ${path}, or delete it`,
    )
}

/** The folder of a group of users below the usual one, of a name `GROUP/NAME`; else null. */
function groupOf(name: string): string | null {
  return name.includes('/') ? dirname(name) : null
}

/**
 * A segment of a group of users is what its members make in the folder that the administrator has made for them. They trust each
 * other: a member can read and write it, and cut it off.
 */
function checkGroup(path: string, stat: fs.Stats): void {
  const inside = dirname(path)
  const of = fs.lstatSync(inside)
  const user = process.geteuid?.() ?? of.uid
  const refuse = (what: string): never => {
    throw new NativeError('EACCES', errnos.EACCES, 'shm_open', what)
  }
  if (!of.isDirectory() || (of.uid !== 0 && of.uid !== user) || (of.mode & 0o007) !== 0)
    refuse(
      `${inside} is not to be trusted: it has to be a folder of root (or yours) that is closed to others, mode 2770`,
    )
  if (stat.gid !== of.gid || (stat.mode & 0o006) !== 0)
    refuse(`${path} is not of the group of ${inside}, or is open to others: delete it, and chmod g+s ${inside}`)
}

/** The address, or the negated errno. */
function tryMmap(address: number, lengthBytes: number, flags: number, fd: number, byteOffset: number = 0): number {
  const { mmap: call, koffi } = requireLibc('mmap')
  const result = Number(call(address, lengthBytes, PROT_READ_WRITE, flags, fd, byteOffset))
  return result === -1 ? -koffi.errno() : result
}

function mmap(
  syscall: string,
  address: number,
  lengthBytes: number,
  flags: number,
  fd: number,
  what: string,
  byteOffset: number = 0,
): number {
  const result = tryMmap(address, lengthBytes, flags, fd, byteOffset)
  if (result < 0) throw nativeError(syscall, errnoName(-result), -result, what)
  return result
}

/** The first `sizeBytes` bytes of a mapping as a buffer. */
function adopt(mapping: Mapping, sizeBytes: number): ArrayBuffer {
  const { koffi, munmap } = requireLibc('mmap')
  const { address, lengthBytes } = mapping
  try {
    return remember(
      gated(() => koffi.view(BigInt(address), sizeBytes)),
      mapping,
    )
  } catch (error) {
    munmap(address, lengthBytes)
    throw nativeError(
      'mmap',
      'ENOMEM',
      errnos.ENOMEM,
      `no ArrayBuffer of ${sizeBytes} bytes: ${(error as Error).message}`,
    )
  }
}

/** A range that is neither V8's nor a file that this thread has open. */
const own = (address: number, lengthBytes: number): Mapping => ({ address, lengthBytes, fd: -1, ofV8: false })

function remember(buffer: ArrayBuffer, mapping: Mapping): ArrayBuffer {
  mappings.set(buffer, mapping)
  live.add(mapping)
  if (lockNewMappings) lockRange(mapping.address, mapping.lengthBytes)
  return buffer
}

function roundUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? ''
}

function fromNode(error: unknown, syscall: string, what: string): NativeError {
  const { code, errno } = error as NodeJS.ErrnoException
  return nativeError(syscall, code ?? 'EIO', Math.abs(errno ?? 5), what)
}
