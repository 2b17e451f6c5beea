/** Memory of other processes, as the transport reaches it: a device that can gives it this (`Transport.processMemory`). */
export interface ProcessMemory {
  /** As `ProcessRegions.resolve`: for a range to which `Host.resolve` gave a negative answer. The process is in `pid` then, 0 for the segment. */
  resolve(key: number, pd: number, addr: number, length: number, access: number, qp: number): number
  readonly pid: number
  /** Whether what failed last, a `resolve` or a copy, did since the process has ended, or executes another program. */
  readonly isGone: boolean
  /** Copies from one place to another, each of a process or of the segment; 0 if it could. */
  move(to: number, toPid: number, from: number, fromPid: number, length: number): number
  /** Copies from the segment to a process, so that the last bytes appear last; 0 if it could. */
  deliverOrdered(to: number, pid: number, from: number, length: number): number
  /** FETCH_AND_ADD, or CMP_AND_SWP, of eight bytes there; 0 if it could. What was there before is at `word` then. */
  atomic(at: number, pid: number, swaps: boolean, compareAdd: bigint, swap: bigint): number
  readonly word: number
  /** Where `stageBytes` of the segment are for bytes that are read ahead, and as many for those that are written late. */
  readonly stage: number
  readonly collected: number
  /** Whether a process still has the image to which places in it belong. */
  isThere(pid: number): boolean
  /** Until `endBurst`, in a moment, whether a process is still there is asked once. */
  beginBurst(): void
  endBurst(): void
}
