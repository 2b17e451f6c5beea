/**
 * Files that are in no folder (memfd_create): several processes map one, and stores to it show in the mappings. A process must not be able
 * to end this process through one: a file that is truncated under a mapping ends the process that touches the pages that are gone (SIGBUS),
 * so its length cannot shrink, and no process can add another seal.
 */
import { ftruncateSync } from 'node:fs'
import { constants } from 'node:os'
import { errnoName, errnos, nativeError } from './error.ts'
import { requireLibc } from './libc.ts'
import { closeFd } from './poll.ts'

const MFD_CLOEXEC = 1
const MFD_ALLOW_SEALING = 2
const O_RDWR_CLOEXEC = 0o2000002
const F_ADD_SEALS = 1033
const F_SEAL_SEAL = 1
const F_SEAL_SHRINK = 2
const F_SETSIG = 10
const F_SETLEASE = 1024
const F_WRLCK = 1
const F_UNLCK = 2
const SEEK_SET = 0
const FALLOC_FL_KEEP_SIZE = 1
const FALLOC_FL_PUNCH_HOLE = 2

/** A file of `length` bytes, all of them zero, that may grow: its descriptor, which `closeFd` closes. Throws `NativeError`. */
export function makeMemoryFile(title: string, length: number): number {
  const { memfdCreate, fcntl, koffi } = requireLibc('memfd_create')
  const fd = memfdCreate(title, MFD_CLOEXEC | MFD_ALLOW_SEALING)
  if (fd < 0) throw failed('memfd_create', koffi.errno(), `memory file ${title} could not be made`)
  try {
    ftruncateSync(fd, length)
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK) !== 0)
      throw failed('fcntl', koffi.errno(), `memory file ${title} could not be sealed`)
    // The kernel does not count the description that it makes the file with among those that write: see `isSoleDescription`.
    return reopenMemoryFile(fd, 0)
  } finally {
    closeFd(fd)
  }
}

/** Opens such a file again, for reading and writing: a description of its own, whose position is `position`. */
export function reopenMemoryFile(file: number, position: number): number {
  const { open, lseek, koffi } = requireLibc('open')
  const fd = open(`/proc/self/fd/${file}`, O_RDWR_CLOEXEC)
  if (fd < 0) throw failed('open', koffi.errno(), `memory file ${file} could not be opened again`)
  if (Number(lseek(fd, position, SEEK_SET)) !== position) {
    const errno = koffi.errno()
    closeFd(fd)
    throw failed('lseek', errno, `memory file ${file} has no position ${position}`)
  }
  return fd
}

/**
 * Returns true if this descriptor's description is the only one of the file that is left, in any process, mappings included: only then does
 * the kernel grant a lease for writing.
 */
export function isSoleDescription(file: number): boolean {
  const { fcntl } = requireLibc('fcntl')
  // If a process opens the file in between, the kernel signals this process: with a signal that has no effect by default.
  fcntl(file, F_SETSIG, constants.signals.SIGURG)
  if (fcntl(file, F_SETLEASE, F_WRLCK) !== 0) return false
  fcntl(file, F_SETLEASE, F_UNLCK)
  return true
}

/** Makes the system give memory for these bytes now, so that no later access meets a lack of it. */
export function commitMemoryFile(file: number, from: number, length: number): void {
  allocate(file, 0, from, length, `memory file ${file} could not get ${length} bytes`)
}

/** Gives the memory of these bytes back: they are zero from then on. */
export function punchMemoryFile(file: number, from: number, length: number): void {
  allocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, length, `memory file ${file} could not have a hole`)
}

function allocate(file: number, mode: number, from: number, length: number, what: string): void {
  const { fallocate, koffi } = requireLibc('fallocate')
  for (;;) {
    if (fallocate(file, mode, from, length) === 0) return
    if (koffi.errno() !== errnos.EINTR) throw failed('fallocate', koffi.errno(), what)
  }
}

function failed(syscall: string, errno: number, what: string): Error {
  return nativeError(syscall, errnoName(errno), errno, what)
}
