/**
 * The IP ports that connection managers of a segment have taken, as a kernel keeps them for a host: for each port space and address once
 * (served.ts), unless those that have it share it. Records with the same port number are chained; all this is under the control lock.
 *
 *     reuse    (SO_REUSEADDR) shared with others that set it too, until one of them listens
 *     group    (SO_REUSEPORT) shared with other threads that give the same number, and all of them may listen
 */
import { VerbsError } from './errors.ts'
import type { Host } from './host.ts'
import { Meta, Port } from './layout.ts'
import { giveRecord, recordOf, slotOf, stale, takeRecord } from './records.ts'
import { servedOverlap } from './served.ts'

/** Range of the ports that are assigned where no port is requested: Linux's. */
const firstEphemeral = 32768
const lastEphemeral = 60999

export interface PortRequest {
  portSpace: number
  /** 0 takes any free one. */
  port: number
  /** Addresses of the port: see served.ts. */
  served: Int32Array
  /** Shares the port with others that set this flag, as long as none of them listens. */
  reuse?: boolean
  /** Group number, or 0: the port is shared with other threads that give the same number, also while they listen. Each has it once. */
  group?: number
}

/** A port that this thread has. */
export interface TakenPort {
  readonly port: number
  /** A reference to its record. */
  readonly ref: number
}

/** Takes a port. EADDRINUSE if another has it; `random` is from [0, 1). */
export function takePort(host: Host, request: PortRequest, random: () => number): TakenPort {
  return host.control(() => {
    let { port } = request
    if (port !== 0) {
      if (!isFree(host, request, port)) throw inUse(`port ${port} is in use`)
    } else {
      const count = lastEphemeral - firstEphemeral + 1
      const start = Math.floor(random() * count)
      for (let i = 0; i < count && port === 0; i++) {
        const candidate = firstEphemeral + ((start + i) % count)
        if (isFree(host, { ...request, reuse: false, group: 0 }, candidate)) port = candidate
      }
      if (port === 0) throw inUse(`all ports from ${firstEphemeral} to ${lastEphemeral} are in use`)
    }
    return write(host, request, port)
  })
}

/**
 * Makes the port listen, for `served` alone: only its group shares it from now on; EADDRINUSE if another thread has it for some of these
 * addresses.
 */
export function listenOnPort(host: Host, taken: TakenPort, served: Int32Array): void {
  const { i32, at } = host
  host.control(() => {
    const p = portWord(host, slotOf(taken.ref))
    for (let slot = i32[at.portHeads + taken.port]! - 1; slot >= 0; slot = i32[portWord(host, slot) + Port.next]! - 1) {
      const other = portWord(host, slot)
      if (other === p || i32[other + Port.space] !== i32[p + Port.space]) continue
      if (!servedOverlap(i32, other + Port.served, served, 0)) continue
      if (!inGroup(host, other, i32[p + Port.group]))
        throw inUse(`port ${taken.port} is shared with another that has bound it`)
    }
    i32.set(served, p + Port.served)
    i32[p + Port.listening] = 1
  })
}

export function givePort(host: Host, taken: TakenPort): void {
  host.control(() => {
    if (recordOf(host, 'port', taken.ref) !== stale) unchain(host, slotOf(taken.ref))
  })
}

/** Frees the ports of a thread that ended; returns their number. */
export function reapPorts(host: Host, owner: number): number {
  const { i32, at } = host
  let reaped = 0
  host.control(() => {
    for (let slot = 0; slot < i32[at.meta + Meta.portsUsed]!; slot++) {
      const p = portWord(host, slot)
      if (i32[p + Port.state] !== 1 || i32[p + Port.owner] !== owner) continue
      unchain(host, slot)
      reaped++
    }
  })
  return reaped
}

function write(host: Host, request: PortRequest, port: number): TakenPort {
  const { i32, at } = host
  const p = takeRecord(host, 'port', 'takePort')
  const ref = i32[p + Port.ref]!
  i32[p + Port.owner] = host.segment.me
  i32[p + Port.space] = request.portSpace
  i32[p + Port.port] = port
  i32[p + Port.reuse] = request.reuse ? 1 : 0
  i32[p + Port.group] = request.group ?? 0
  i32.set(request.served, p + Port.served)
  i32[p + Port.next] = i32[at.portHeads + port]!
  i32[p + Port.state] = 1
  Atomics.store(i32, at.portHeads + port, slotOf(ref) + 1)
  return { port, ref }
}

function isFree(host: Host, request: PortRequest, port: number): boolean {
  const { i32, at } = host
  for (let slot = i32[at.portHeads + port]! - 1; slot >= 0; slot = i32[portWord(host, slot) + Port.next]! - 1) {
    const p = portWord(host, slot)
    if (i32[p + Port.space] !== request.portSpace) continue
    if (!servedOverlap(i32, p + Port.served, request.served, 0)) continue
    if (request.reuse && i32[p + Port.reuse] === 1 && i32[p + Port.listening] === 0) continue
    if (inGroup(host, p, request.group)) continue
    // A thread that ended without closing has it no more.
    if (host.segment.attachmentAlive(i32[p + Port.owner]!)) return false
    unchain(host, slot)
  }
  return true
}

/** Returns true if another thread of the group has the port. */
function inGroup(host: Host, p: number, group = 0): boolean {
  const { i32, segment } = host
  return group !== 0 && i32[p + Port.group] === group && i32[p + Port.owner] !== segment.me
}

function unchain(host: Host, slot: number): void {
  const { i32, at } = host
  const p = portWord(host, slot)
  let link = at.portHeads + i32[p + Port.port]!
  while (i32[link] !== slot + 1 && i32[link] !== 0) link = portWord(host, i32[link]! - 1) + Port.next
  if (i32[link] === slot + 1) Atomics.store(i32, link, i32[p + Port.next]!)
  giveRecord(host, 'port', p)
}

function portWord(host: Host, slot: number): number {
  return host.at.ports + slot * Port.words
}

function inUse(message: string): VerbsError {
  return new VerbsError('EADDRINUSE', 'takePort', message)
}
