/**
 * The time stamp counter of x86 processors, read by a few bytes of machine code in a page of our own. `lfence` before `rdtsc` keeps loads
 * in order, as the manual requires (Potter 2018, "Busy polling the x86 Time Stamp Counter"); `rdtscp` would save nothing here. There is no
 * `pause` in the loop: hypervisors take the processor away from a guest that pauses too often.
 *
 *     read   lfence; rdtsc; shl rdx, 32; or rax, rdx; mov [rdi], rax; ret
 *     spin   lfence; rdtsc; shl rdx, 32; or rax, rdx; add rdi, rax
 *       loop lfence; rdtsc; shl rdx, 32; or rax, rdx; cmp rax, rdi; jb loop; ret
 */
import { readFileSync } from 'node:fs'
import { clockMonotonicNs } from './host.ts'
import { libc, type NativeFunction, nativeScratch } from './libc.ts'
import { gated } from './loading.ts'

const now = [0x0f, 0xae, 0xe8, 0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0]
const readCode = [...now, 0x48, 0x89, 0x07, 0xc3]
const spinCode = [...now, 0x48, 0x01, 0xc7, ...now, 0x48, 0x39, 0xf8, 0x72, 0xef, 0xc3]
const spinOffset = 64
const pageBytes = 4096

const PROT_READ_WRITE = 3
const PROT_READ_EXEC = 5
const MAP_PRIVATE_ANONYMOUS = 0x22

/** The counter: how to read it and to wait for it, and its frequency in GHz. */
export interface Tsc {
  readonly ghz: number
  /** Busy until so many nanoseconds have passed; nothing interrupts it. */
  spin(ns: number): void
}

let known: Tsc | string | undefined

/** The counter, or the reason why it cannot be used here. The first call takes 5 ms, in which it is calibrated. */
export function timeStampCounter(): Tsc | string {
  known ??= open()
  return known
}

function open(): Tsc | string {
  if (libc === null) return 'koffi is not there'
  if (process.arch !== 'x64') return `${process.arch} has no such counter`
  try {
    if (!/\bconstant_tsc\b/.test(readFileSync('/proc/cpuinfo', 'latin1'))) return 'it does not count at a constant rate'
  } catch {
    return 'whether it counts at a constant rate is not known'
  }
  const code = machineCode()
  if (code === null) return 'the system does not let memory be made executable'
  const scratch = nativeScratch(8)
  const read = (): number => {
    code.read(scratch.address)
    return scratch.u32[0]! + scratch.u32[1]! * 2 ** 32
  }
  const ghz = calibrate(read)
  if (!(ghz > 0.1 && ghz < 10)) return `its frequency cannot be told (${ghz.toFixed(3)} GHz)`
  return { ghz, spin: (ns) => void code.spin(Math.max(0, Math.floor(ns * ghz))) }
}

interface Code {
  read: NativeFunction
  spin: NativeFunction
}

/** Null where memory cannot be made executable, as under a strict SELinux. */
function machineCode(): Code | null {
  const { mmap, mprotect, munmap, koffi } = libc!
  const address = mmap(0, pageBytes, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0)
  if (address < 0) return null
  return gated(() => {
    const bytes = new Uint8Array(koffi.view(BigInt(address), pageBytes))
    bytes.set(readCode, 0)
    bytes.set(spinCode, spinOffset)
    if (mprotect(address, pageBytes, PROT_READ_EXEC) !== 0) {
      munmap(address, pageBytes)
      return null
    }
    const call = (offset: number): NativeFunction =>
      koffi.decode(BigInt(address + offset), koffi.proto('void', ['uint64_t']))
    return { read: call(0), spin: call(spinOffset) }
  })
}

const calibrationNs = 5e6

/** Ticks for each nanosecond. Both clocks are read together, several times, and the closest pair counts. */
function calibrate(read: () => number): number {
  const [ns, ticks] = pair(read)
  while (clockMonotonicNs() < ns + calibrationNs);
  const [laterNs, laterTicks] = pair(read)
  return (laterTicks - ticks) / (laterNs - ns)
}

function pair(read: () => number): [ns: number, ticks: number] {
  let closest = Number.POSITIVE_INFINITY
  let found: [number, number] = [0, 0]
  for (let i = 0; i < 20; i++) {
    const before = clockMonotonicNs()
    const ticks = read()
    const after = clockMonotonicNs()
    if (after - before >= closest) continue
    closest = after - before
    found = [(before + after) / 2, ticks]
  }
  return found
}
