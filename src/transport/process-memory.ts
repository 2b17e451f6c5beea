/** Memory of other processes, as the transport reaches it: a device with access provides this object (`Transport.processMemory`). */
export interface ProcessMemory {
  /**
   * Resolves a range for which `Host.resolve` returned a negative value, as `ProcessRegions.resolve`. The process is in `pid` then, 0 for
   * the segment.
   */
  resolve(key: number, pd: number, addr: number, length: number, access: number, qp: number): number
  readonly pid: number
  /** True if the last failure, of `resolve` or of a copy, was due to the end of the process, or because it executes another program. */
  readonly isGone: boolean
  /** Copies from one location to another, each in a process or in the segment; 0 on success. */
  move(to: number, toPid: number, from: number, fromPid: number, length: number): number
  /** Copies from the segment to a process, so that the last bytes appear last; 0 on success. */
  deliverOrdered(to: number, pid: number, from: number, length: number): number
  /** Executes FETCH_AND_ADD, or CMP_AND_SWP, on eight bytes there; 0 on success. The previous value is at `word` then. */
  atomic(at: number, pid: number, swaps: boolean, compareAdd: bigint, swap: bigint): number
  readonly word: number
  /** Offsets of `stageBytes` of the segment for bytes that are read ahead, and as many for those that are written late. */
  readonly stage: number
  readonly collected: number
  /** True if a process still has the image to which locations in it belong. */
  isThere(pid: number): boolean
  /** Begins a burst: until `endBurst`, shortly after, each process is checked only once for being there. */
  beginBurst(): void
  endBurst(): void
}
