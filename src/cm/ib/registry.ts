/** Look-up of connections by their own id, by the peer's id and by the peer's QP, and of listeners by service id. */
import { type CmReq, sameBytes } from '../../wire/index.ts'
import type { Connection, Listener } from './connection.ts'
import { CmError } from './errors.ts'
import type { CmMessageOf, ListenOptions } from './parameters.ts'
import { Shares } from './shares.ts'

type Request = CmMessageOf<'REQ'> | CmMessageOf<'SIDR_REQ'>
const allBits = 0xffff_ffff_ffff_ffffn

export class Registry<A> {
  readonly #byLocal = new Map<number, Connection<A>>()
  readonly #byRemote = new Map<string, Connection<A>>()
  readonly #byQpn = new Map<string, Connection<A>>()
  readonly #exact = new Map<bigint, Listener<A>[]>()
  readonly #masked: Listener<A>[] = []
  /** Connections that wait for the REQ of a peer: few. */
  readonly #peers = new Set<Connection<A>>()

  get size(): number {
    return this.#byLocal.size
  }

  get all(): IterableIterator<Connection<A>> {
    return this.#byLocal.values()
  }

  isFree(localCommId: number): boolean {
    return localCommId > 0 && localCommId <= 0xffffffff && !this.#byLocal.has(localCommId)
  }

  add(c: Connection<A>): void {
    this.#byLocal.set(c.localCommId, c)
    if (c.peerToPeer) this.#peers.add(c)
  }

  remove(c: Connection<A>): void {
    this.#byLocal.delete(c.localCommId)
    this.#peers.delete(c)
    this.forgetRemote(c)
    this.forgetQpn(c)
  }

  /** Finds a connection by the ids of a message from the peer; the peer's own id is not compared while it is unknown here. */
  find(localCommId: number, remoteCommId: number): Connection<A> | undefined {
    const c = this.#byLocal.get(localCommId)
    if (c === undefined || c.kind !== 'connection') return undefined
    return !c.remoteKnown || c.remoteCommId === remoteCommId ? c : undefined
  }

  byLocal(localCommId: number): Connection<A> | undefined {
    return this.#byLocal.get(localCommId)
  }

  byRemote(key: string): Connection<A> | undefined {
    return this.#byRemote.get(key)
  }

  byQpn(guid: bigint, qpn: number, source: string): Connection<A> | undefined {
    return this.#byQpn.get(`${guid} ${qpn} ${source}`)
  }

  /** Enters the connection under the ids and the QP of its peer. */
  knowRemote(c: Connection<A>, key: string): void {
    this.#peers.delete(c)
    c.remoteKey = key
    this.#byRemote.set(key, c)
  }

  knowQpn(c: Connection<A>): void {
    c.qpnKey = `${c.remoteCaGuid} ${c.remoteQpn} ${c.peerKey}`
    this.#byQpn.set(c.qpnKey, c)
  }

  forgetRemote(c: Connection<A>): void {
    if (c.remoteKey !== undefined) this.#byRemote.delete(c.remoteKey)
    c.remoteKey = undefined
  }

  forgetQpn(c: Connection<A>): void {
    if (c.qpnKey !== undefined) this.#byQpn.delete(c.qpnKey)
    c.qpnKey = undefined
  }

  /** Returns the connection that waits for this REQ of its peer: same service, and its path leads to the source of the REQ. */
  peerFor(request: CmReq, caGuid: bigint, isFrom: (c: Connection<A>) => boolean): Connection<A> | undefined {
    for (const c of this.#peers) {
      if (c.serviceId !== request.serviceId || (c.state !== 'REQ_SENT' && c.state !== 'MRA_REQ_RCVD')) continue
      if (request.localCaGuid === caGuid && request.localCommId === c.localCommId) continue
      if (sameBytes(c.primary.remoteGid, request.primary.localGid) && isFrom(c)) return c
    }
    return undefined
  }

  listen(serviceId: bigint, options: ListenOptions<A>): Listener<A> {
    const { mask = allBits, backlog = 1024, whenFull = 'drop', matches, context } = options
    if (serviceId < 0n || serviceId > allBits || mask < 0n || mask > allBits)
      throw new CmError('ERR_CM_VALUE', 'listen', 'service id and mask are numbers from 0 to 2^64 - 1')
    if (!Number.isInteger(backlog) || backlog < 1)
      throw new CmError('ERR_CM_VALUE', 'listen', `a backlog is a whole number from 1, not ${backlog}`)
    const listener = {
      serviceId,
      mask,
      backlog,
      whenFull,
      matches,
      context,
      waiting: 0,
      closed: false,
      halfOpen: new Shares<Connection<A>>(),
    }
    const list = this.#listFor(listener)
    const taken = list.some(
      (other) => other.serviceId === serviceId && other.mask === mask && !(matches && other.matches),
    )
    if (taken) {
      const hint = 'close the other listener, or let both say what is meant for them (matches)'
      throw new CmError('ERR_CM_IN_USE', 'listen', `somebody listens to service 0x${serviceId.toString(16)}: ${hint}`)
    }
    list.push(listener)
    if (mask === allBits) this.#exact.set(serviceId, list)
    return listener
  }

  closeListener(listener: Listener<A>): void {
    listener.closed = true
    const list = this.#listFor(listener)
    const at = list.indexOf(listener)
    if (at >= 0) list.splice(at, 1)
    if (list.length === 0 && list !== this.#masked) this.#exact.delete(listener.serviceId)
  }

  listenerFor(request: Request, from: A): Listener<A> | undefined {
    const fits = (l: Listener<A>): boolean => l.matches === undefined || l.matches(request, from)
    const { serviceId } = request
    return (
      this.#exact.get(serviceId)?.find(fits) ??
      this.#masked.find((l) => (serviceId & l.mask) === (l.serviceId & l.mask) && fits(l))
    )
  }

  #listFor({ serviceId, mask }: Listener<A>): Listener<A>[] {
    return mask === allBits ? (this.#exact.get(serviceId) ?? []) : this.#masked
  }
}

/**
 * GUIDs, ids and QP numbers are claims of a message; only its source shows whether the sender may make them. So the source
 * is part of each key: a sender that names another's adapter neither finds its connections nor takes its names.
 */
export function remoteKeyOf(caGuid: bigint, commId: number, source: string): string {
  return `${caGuid} ${commId} ${source}`
}

export function sidrKeyOf(requestId: number, serviceId: bigint, source: string): string {
  return `sidr ${requestId} ${serviceId} ${source}`
}
