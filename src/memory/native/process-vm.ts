/**
 * Memory of other processes, copied from and to memory of this one: process_vm_readv(2) and process_vm_writev(2). The kernel
 * permits it towards a process of the same user that may be dumped; where Yama restricts ptrace, towards descendants only.
 *
 * Both calls take two lists, the bytes here and the bytes there, and copy one to the other as streams. The lists stand in
 * memory of the C library, so that a call allocates nothing:
 *
 *     vm.clear(); vm.addHere(at, length); vm.addThere(address, length); vm.read(pid)
 *
 * The kernel takes the ranges there one after the other, and copies each page by page, upwards. What one instruction of an x86
 * processor copies may become visible in any order, but what the next one copies comes after it (Intel SDM volume 3A, 8.2.4).
 * So a tail that is a range of its own becomes visible last; on processors that reorder stores it needs a call of its own.
 */
import { errnos } from './error.ts'
import { nativeScratch, requireLibc } from './libc.ts'

/** Ranges of a list: those of a work request with a header in front, and a tail of its own. */
const maxRanges = 80

const iovecBytes = 16
const thereAt = maxRanges * iovecBytes

export class ProcessVm {
  readonly #libc = requireLibc('process_vm_readv')
  /** Address of the byte that offsets here count from. */
  readonly #base: number
  readonly #lists = nativeScratch(2 * maxRanges * iovecBytes)
  #here = 0
  #there = 0
  #lengthHere = 0
  #lengthThere = 0

  /** `buffer` has all bytes here: they are named by their offsets in it. It never moves. */
  constructor(buffer: ArrayBuffer | SharedArrayBuffer) {
    this.#base = Number(this.#libc.koffi.address(new Uint8Array(buffer)))
  }

  /** Empties both lists. */
  clear(): void {
    this.#here = 0
    this.#there = 0
    this.#lengthHere = 0
    this.#lengthThere = 0
  }

  #put(at: number, address: number, lengthBytes: number): void {
    const { u32 } = this.#lists
    u32[at / 4] = address % 2 ** 32
    u32[at / 4 + 1] = Math.floor(address / 2 ** 32)
    u32[at / 4 + 2] = lengthBytes
    u32[at / 4 + 3] = 0
  }

  /** Adds bytes of this process, by their offset; less than 2^31 of them, and `maxRanges` ranges at most. */
  addHere(offset: number, lengthBytes: number): void {
    this.#put(this.#here * iovecBytes, this.#base + offset, lengthBytes)
    this.#here++
    this.#lengthHere += lengthBytes
  }

  /** Adds bytes of the other process, by their address. */
  addThere(address: number, lengthBytes: number): void {
    this.#put(thereAt + this.#there * iovecBytes, address, lengthBytes)
    this.#there++
    this.#lengthThere += lengthBytes
  }

  /**
   * Copies what is there to what is here, both as long. 0, or an errno: EFAULT if not all of it is mapped there, then
   * some of it may be copied; ESRCH without such a process, EPERM if the kernel forbids it.
   */
  read(pid: number): number {
    const n = this.readSome(pid)
    return n === this.#lengthThere ? 0 : n < 0 ? -n : errnos.EFAULT
  }

  /** Copies what is here to what is there; as `read`. */
  write(pid: number): number {
    const n = this.writeSome(pid)
    return n === this.#lengthHere ? 0 : n < 0 ? -n : errnos.EFAULT
  }

  /** Copies as much as possible: returns the number of bytes, or a negative errno. */
  readSome(pid: number): number {
    const { processVmReadv, koffi } = this.#libc
    const { address } = this.#lists
    const n = processVmReadv(pid, address, this.#here, address + thereAt, this.#there, 0)
    return n < 0 ? -koffi.errno() : n
  }

  writeSome(pid: number): number {
    const { processVmWritev, koffi } = this.#libc
    const { address } = this.#lists
    const n = processVmWritev(pid, address, this.#here, address + thereAt, this.#there, 0)
    return n < 0 ? -koffi.errno() : n
  }
}
