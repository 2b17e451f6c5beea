/**
 * Connections that a dead thread left open, whose peers have to be notified. A kernel sends a DREQ for each connection of a process that
 * ends; here the dead thread was its own connection manager, and its state is gone. So the communication IDs of a connection stand beside
 * the QP's address vector, the thread that cleans up after the dead one writes them into a ring of the segment, and a live agent of the
 * same device sends the DREQ.
 *
 * The ring keeps the last 512; a peer whose entry was overwritten notices the end as it would notice that of a host that vanished.
 */
import type { Host } from './host.ts'
import { Av, Dev, Farewell, Meta, maxFarewells, Qp } from './layout.ts'

/** A DREQ that is to be sent. */
export interface DueFarewell {
  readonly localCommId: number
  readonly remoteCommId: number
  /** QP number of the peer. */
  readonly remoteQpn: number
  readonly dgid: Uint8Array
  readonly dlid: number
  readonly sgidIndex: number
}

/** Properties of a queue pair that are needed here. */
interface ConnectedQp {
  readonly slot: number
  readonly closed: boolean
  readonly pd: { readonly context: { readonly device: { readonly host: Host } } }
}

/** Notes the communication IDs of the connection that a QP belongs to; 0 and 0 when it is over. */
export function nameConnection(qp: ConnectedQp, localCommId: number, remoteCommId: number): void {
  if (qp.closed) return
  const { host } = qp.pd.context.device
  const q = host.qpWord(qp.slot)
  host.i32[q + Qp.remoteCommId] = remoteCommId
  Atomics.store(host.i32, q + Qp.localCommId, localCommId)
}

/** Called before a QP of a dead thread is destroyed: adds its connection to the ring; returns true if there is a DREQ to be sent for it. */
export function leaveFarewell(host: Host, q: number): boolean {
  const { i32, at } = host
  // In a segment the peers look for themselves.
  if (i32[q + Qp.localCommId] === 0 || i32[host.deviceWord(i32[q + Qp.device]!) + Dev.transport] === 0) return false
  host.control(() => {
    const number = (i32[at.meta + Meta.farewells]! + 1) | 0
    const entry = entryOf(host, number)
    Atomics.store(i32, entry + Farewell.number, 0)
    i32[entry + Farewell.device] = i32[q + Qp.device]!
    i32[entry + Farewell.localCommId] = i32[q + Qp.localCommId]!
    i32[entry + Farewell.remoteCommId] = i32[q + Qp.remoteCommId]!
    i32[entry + Farewell.remoteQpn] = i32[q + Qp.destQpNum]!
    i32.copyWithin(entry + Farewell.av, q + Qp.av, q + Qp.av + Av.words)
    Atomics.store(i32, entry + Farewell.number, named(number))
    Atomics.store(i32, at.meta + Meta.farewells, number)
  })
  return true
}

/** Returns the number of entries ever written; wraps at 32 bits. */
export function farewells({ i32, at }: Host): number {
  return Atomics.load(i32, at.meta + Meta.farewells)
}

/** Takes entry `number`, if it belongs to the device and no thread has taken it yet. */
export function takeFarewell(host: Host, device: number, number: number): DueFarewell | undefined {
  const { i32 } = host
  const entry = entryOf(host, number)
  if (Atomics.load(i32, entry + Farewell.number) !== named(number) || i32[entry + Farewell.device] !== device)
    return undefined
  const av = entry + Farewell.av
  const due = {
    localCommId: i32[entry + Farewell.localCommId]! >>> 0,
    remoteCommId: i32[entry + Farewell.remoteCommId]! >>> 0,
    remoteQpn: i32[entry + Farewell.remoteQpn]!,
    dgid: new Uint8Array(i32.buffer, i32.byteOffset + (av + Av.gid) * 4, 16).slice(),
    dlid: i32[av + Av.dlid]!,
    sgidIndex: i32[av + Av.sgidIndex]!,
  }
  // The entry is consistent, and this thread's, if no thread has taken or overwritten it meanwhile.
  return Atomics.compareExchange(i32, entry + Farewell.number, named(number), 0) === named(number) ? due : undefined
}

function entryOf({ at }: Host, number: number): number {
  return at.farewells + (number & (maxFarewells - 1)) * Farewell.words
}

/** Returns the value that marks an entry as number `number`; never 0. */
function named(number: number): number {
  return number === 0 ? -0x80000000 : number
}
