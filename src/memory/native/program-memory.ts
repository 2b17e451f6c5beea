/** Memory of programs, one range at a time, by way of a buffer that all callers in a thread share. */
import { libc, nativeScratch, requireLibc } from './libc.ts'
import { ProcessVm } from './process-vm.ts'

/** Maximum number of bytes that one call copies. */
export const programMemoryBytes = 65_536
const buffer = libc === null ? null : nativeScratch(programMemoryBytes)
const bufferAddress = buffer?.address ?? 0

/** Bytes that `readProgram` has read, and that `writeProgram` writes. */
export const programBytes: Uint8Array = buffer?.u8 ?? new Uint8Array(0)
const vm = buffer === null ? null : new ProcessVm(buffer.u8.buffer)

/**
 * Reads as many as possible of `length` bytes of thread `tid` from `address` on into `programBytes`; returns their number, or a negative
 * errno.
 */
export function readProgram(tid: number, address: number, length: number): number {
  return between(address, length).readSome(tid)
}

/** The same for writing from `programBytes`. */
export function writeProgram(tid: number, address: number, length: number): number {
  return between(address, length).writeSome(tid)
}

function between(address: number, length: number): ProcessVm {
  if (vm === null) requireLibc('process_vm_readv')
  vm!.clear()
  vm!.addHere(0, length)
  vm!.addThere(address, length)
  return vm!
}

/**
 * Returns true if the image that `/proc/PID/mem` was opened for is still there: not after the process has ended or has executed another.
 * `memory` is that descriptor.
 */
export function isImageThere(memory: number): boolean {
  // Nothing is mapped at address 0, so that this fails; where there is nothing at all, it reads no bytes.
  return Number(requireLibc('read').read(memory, bufferAddress, 1)) !== 0
}
