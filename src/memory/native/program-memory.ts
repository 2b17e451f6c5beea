/**
 * Memory of another process: process_vm_readv and process_vm_writev, which keep to its protections. It must be a process that this one
 * may trace: of the same user, and a descendant where Yama says so.
 */
import { libc, nativeScratch, requireLibc } from './libc.ts'
import { callNumber } from './system-calls.ts'

/** So much is copied by one call. */
export const programMemoryBytes = 65_536
/** Two struct iovec of address and length: here and there. */
const vectors = libc === null ? null : nativeScratch(32)
const buffer = libc === null ? null : nativeScratch(programMemoryBytes)
const vectorsAddress = vectors?.address ?? 0
const bufferAddress = buffer?.address ?? 0
const readNumber = callNumber('process_vm_readv')
const writeNumber = callNumber('process_vm_writev')

/** What `readProgram` has read, and `writeProgram` writes. */
export const programBytes: Uint8Array = buffer?.u8 ?? new Uint8Array(0)

/** Of a thread `tid`, reads as many of `length` bytes from `address` on as can be, into `programBytes`; or a negative errno. */
export function readProgram(tid: number, address: number, length: number): number {
  return copy(readNumber, tid, address, length)
}

/** The same for writing from `programBytes`. */
export function writeProgram(tid: number, address: number, length: number): number {
  return copy(writeNumber, tid, address, length)
}

function copy(number: number, tid: number, address: number, length: number): number {
  const { syscall, koffi } = requireLibc('process_vm_readv')
  const { u32 } = vectors!
  u32[0] = bufferAddress % 2 ** 32
  u32[1] = Math.floor(bufferAddress / 2 ** 32)
  u32[2] = u32[6] = length
  u32[3] = u32[7] = 0
  u32[4] = address % 2 ** 32
  u32[5] = Math.floor(address / 2 ** 32)
  const result = Number(syscall(number, tid, vectorsAddress, 1, vectorsAddress + 16, 1, 0))
  return result >= 0 ? result : -koffi.errno()
}

/**
 * Whether the image that `/proc/PID/mem` was opened for is still there: not after the process has ended or has executed another. `memory`
 * is that descriptor.
 */
export function isImageThere(memory: number): boolean {
  // Nothing is mapped at address 0, so that this fails; where there is nothing at all, it reads no bytes.
  return Number(requireLibc('read').read(memory, bufferAddress, 1)) !== 0
}
