/**
 * Rank 0 of a group: the other ranks connect to it, and it distributes their contributions to barriers and allgathers. A connection that
 * ends without a Bye frame belongs to a rank that died; then the group has failed, and all ranks are notified.
 */
import { lookup } from 'node:dns/promises'
import { createServer, type Server } from 'node:net'
import { GroupError } from './error.ts'
import { type Exchanged, type ExchangeKind, exchangeName, limitBytes, type Port } from './exchange.ts'
import {
  failureOf,
  failureText,
  type Introduction,
  type Member,
  maxTimeoutMs,
  mostGathered,
  nameOf,
  ranksText,
} from './group.ts'
import { admit, introduceTo, misfit, type Secret, secretAt } from './handshake.ts'
import { Kind, Link } from './link.ts'
import { connectOnce } from './member.ts'
import type { Place } from './place.ts'

interface Collecting {
  kind: ExchangeKind
  parts: (Uint8Array | undefined)[]
  count: number
  first: number
  /** Time at which the first of the waiting ranks gives up, on the clock of `performance.now`. */
  endMs: number
  timer: NodeJS.Timeout | undefined
}

/** Number of additional connections that ends without the key may hold. */
const strangers = 64
/** Milliseconds for which ranks that join late still receive the reason of the group's failure. */
const tellMs = 1000

export class Hub implements Port {
  onFailure: (error: GroupError) => void = () => {}
  failure: GroupError | null = null
  readonly #self: Introduction
  readonly #secret: Omit<Secret, 'port'>
  readonly #timeoutMs: number
  readonly #known: (Introduction | null)[]
  readonly #links: (Link | null)[]
  readonly #left: boolean[]
  readonly #servers: Server[] = []
  /** Connections that have not proved anything yet. */
  readonly #unknown = new Set<Link>()
  #arrived = 1
  /** Number of connections that did not know the key, and of those that ended before their introduction. */
  #refused = 0
  #silent = 0
  #onChange: () => void = () => {}
  #collecting: Collecting | null = null
  #own: ((result: Exchanged) => void) | null = null

  constructor(self: Introduction, secret: Omit<Secret, 'port'>, timeoutMs: number) {
    this.#self = self
    this.#secret = secret
    this.#timeoutMs = timeoutMs
    this.#known = Array.from({ length: self.size }, (_, rank) => (rank === 0 ? self : null))
    this.#links = Array.from({ length: self.size }, () => null)
    this.#left = Array.from({ length: self.size }, () => false)
  }

  /** Waits for all ranks. Throws GroupError. */
  async meet(place: Place, signal: AbortSignal | undefined): Promise<Member[]> {
    if (this.#self.size === 1) return [memberOf(this.#self)]
    try {
      await this.#listen(place)
      await this.#until(() => this.#arrived === this.#self.size || this.failure !== null, this.#timeoutMs, signal)
      if (this.failure === null && this.#arrived < this.#self.size) this.fail(this.#missing(signal))
      // A rank that joins now receives the failure, too.
      if (this.failure !== null && !signal?.aborted)
        await this.#until(() => this.#arrived === this.#self.size, tellMs, signal)
    } catch (error) {
      if (error instanceof GroupError) this.fail(error)
      throw error
    } finally {
      for (const server of this.#servers) server.close()
      for (const link of this.#unknown) link.destroy()
    }
    if (this.failure !== null) {
      await this.#closeLinks()
      throw this.failure
    }
    const members = this.#known.map((known) => memberOf(known!))
    for (const link of this.#links) link?.send(Kind.Ready, JSON.stringify(members))
    return members
  }

  exchange(kind: ExchangeKind, bytes: Uint8Array, timeoutMs: number): Promise<Exchanged> {
    return new Promise((resolve) => {
      this.#own = resolve
      this.#collect(0, kind, bytes, timeoutMs)
    })
  }

  fail(error: GroupError): void {
    if (this.failure !== null) return
    this.failure = error
    clearTimeout(this.#collecting?.timer)
    for (const link of this.#links) link?.send(Kind.Fail, failureText(error))
    this.onFailure(error)
    this.#onChange()
  }

  async close(): Promise<void> {
    if (this.failure === null) {
      for (const link of this.#links) link?.send(Kind.Bye)
      const others = (): boolean => this.#left.every((left, rank) => left || rank === 0)
      await this.#until(() => others() || this.failure !== null, 0, undefined)
    }
    await this.#closeLinks()
  }

  async #closeLinks(): Promise<void> {
    await Promise.all(this.#links.map((link) => link?.close()))
  }

  /** Listens on the first port of the place that is free. */
  async #listen({ host, ports }: Place): Promise<void> {
    let why: NodeJS.ErrnoException | undefined
    const address = await addressOf(host)
    for (const port of ports) {
      // The address may be that of a gateway before this host: then rank 0 listens on all addresses of the host.
      for (const local of [address, undefined]) {
        try {
          this.#servers.push(await this.#listenAt(port, local, secretAt(this.#secret, ports, port)))
          return
        } catch (error) {
          why = error as NodeJS.ErrnoException
          // The program that has the port may be a rank 0 of this group.
          await this.#lookAt(address, port, secretAt(this.#secret, ports, port))
          if (why.code !== 'EADDRNOTAVAIL') break
        }
      }
    }
    const tried = ports.length === 1 ? `port ${ports[0]}` : `any of the ports ${ports.join(', ')}`
    throw new GroupError(
      'ERR_GROUP_MEET',
      `rank 0 cannot listen on ${host}, ${tried} (${why?.code}): other programs are there; meet elsewhere with --meet HOST:PORT`,
    )
  }

  #listenAt(port: number, host: string | undefined, secret: Secret): Promise<Server> {
    const server = createServer((socket) => void this.#meetOne(new Link(socket), secret))
    server.maxConnections = this.#self.size + strangers
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen({ port, ...(host !== undefined && { host }), backlog: this.#self.size + strangers }, () => {
        server.off('error', reject)
        // A rank whose connection cannot be accepted connects again.
        server.on('error', () => {})
        resolve(server)
      })
    })
  }

  /** Throws the error that another rank 0 of this group reports. */
  async #lookAt(host: string, port: number, secret: Secret): Promise<void> {
    const link = await connectOnce(host, port, 1000).catch(() => null)
    if (link === null) return
    if ((await introduceTo(link, secret, this.#self, 1000)) !== 'ours') return
    const error = await new Promise<GroupError>((resolve) => {
      link.onFrame = (kind, content) => kind === Kind.Fail && resolve(failureOf(content))
      link.onEnd = () => resolve(new GroupError('ERR_GROUP_TWICE', 'rank 0 is there twice', 0))
      link.resume()
    })
    link.destroy()
    throw error
  }

  async #meetOne(link: Link, secret: Secret): Promise<void> {
    this.#unknown.add(link)
    const other = await admit(link, secret).finally(() => this.#unknown.delete(link))
    if (other === 'refused') this.#refused++
    if (other === 'stranger') this.#silent++
    if (typeof other === 'string') return
    const taken = this.#known[other.rank] ?? null
    const wrong = misfit(this.#self, other, taken)
    if (wrong !== null) {
      this.fail(wrong)
      link.send(Kind.Fail, failureText(this.failure!))
      await link.close()
      return
    }
    const { rank } = other
    this.#known[rank] = other
    this.#links[rank] = link
    this.#arrived++
    link.limit = mostGathered + limitBytes + 64
    link.onFrame = (kind, content) => this.#receive(rank, kind, content)
    link.onEnd = (why) => {
      if (!this.#left[rank]) this.fail(new GroupError('ERR_GROUP_GONE', `${nameOf(other)} is gone: ${why}`, rank))
      this.#left[rank] = true
      this.#onChange()
    }
    link.resume()
    if (this.failure !== null) link.send(Kind.Fail, failureText(this.failure))
    this.#onChange()
  }

  #receive(rank: number, kind: number, content: Buffer): void {
    if (this.failure !== null) return
    if ((kind === Kind.Barrier || kind === Kind.Gather) && content.length >= limitBytes)
      this.#collect(rank, kind, content.subarray(limitBytes), content.readUInt32BE())
    else if (kind === Kind.Bye) {
      this.#left[rank] = true
      this.#checkLeft()
      this.#onChange()
    } else if (kind === Kind.Fail)
      this.fail(new GroupError('ERR_GROUP_FAILED', `${this.#name(rank)} gave up: ${failureOf(content).message}`, rank))
    else this.fail(new GroupError('ERR_GROUP_FAILED', `${this.#name(rank)} sent what no rank sends (${kind})`, rank))
  }

  #collect(rank: number, kind: ExchangeKind, bytes: Uint8Array, timeoutMs: number): void {
    if (this.failure !== null) return
    const size = this.#self.size
    this.#collecting ??= {
      ...{ kind, parts: Array.from({ length: size }), count: 0, first: rank },
      ...{ endMs: Number.POSITIVE_INFINITY, timer: undefined },
    }
    const now = this.#collecting
    if (now.kind !== kind || now.parts[rank] !== undefined) {
      const where = `${this.#name(rank)} is at ${exchangeName(kind)}, and ${this.#name(now.first)} at ${exchangeName(now.kind)}`
      this.fail(new GroupError('ERR_GROUP_DIFFERS', `${where}: all ranks call them in the same order`, rank))
      return
    }
    now.parts[rank] = bytes
    now.count++
    const endMs = performance.now() + timeoutMs
    if (timeoutMs > 0 && endMs < now.endMs) {
      clearTimeout(now.timer)
      now.endMs = endMs
      now.timer = setTimeout(() => this.fail(this.#late(now, timeoutMs)), Math.min(timeoutMs, maxTimeoutMs))
    }
    if (now.count === size) this.#complete(now)
    else this.#checkLeft()
  }

  #complete({ kind, parts, timer }: Collecting): void {
    clearTimeout(timer)
    this.#collecting = null
    const all = kind === Kind.Gather ? joined(parts as Uint8Array[]) : Buffer.alloc(0)
    for (const link of this.#links) link?.send(kind, all)
    const own = this.#own
    this.#own = null
    own?.(parts as Uint8Array[])
  }

  /** Fails the group if a rank that has left is missing in the present exchange. */
  #checkLeft(): void {
    const now = this.#collecting
    if (now === null) return
    const gone = this.#left.findIndex((left, rank) => left && now.parts[rank] === undefined)
    if (gone < 0) return
    const where = `${this.#name(gone)} has left the group, and ${this.#name(now.first)} is at ${exchangeName(now.kind)}`
    this.fail(new GroupError('ERR_GROUP_DIFFERS', where, gone))
  }

  #late({ kind, parts }: Collecting, timeoutMs: number): GroupError {
    const absent = parts.flatMap((part, rank) => (part === undefined ? [rank] : []))
    return new GroupError(
      'ERR_GROUP_MISSING',
      `${ranksText(absent)} of ${parts.length} did not come to ${exchangeName(kind)} within ${timeoutMs / 1000} s`,
      absent.length === 1 ? absent[0] : -1,
    )
  }

  #missing(signal: AbortSignal | undefined): GroupError {
    if (signal?.aborted) return new GroupError('ERR_GROUP_CLOSED', 'interrupted while the ranks met')
    const absent = this.#known.flatMap((known, rank) => (known === null ? [rank] : []))
    const others = [
      ...(this.#refused > 0 ? [`connections refused because they did not know the key: ${this.#refused}`] : []),
      ...(this.#silent > 0 ? [`connections that ended before they said which rank they are: ${this.#silent}`] : []),
    ]
    const refused = others.length > 0 ? ` (${others.join('; ')})` : ''
    return new GroupError(
      'ERR_GROUP_MISSING',
      `${ranksText(absent)} of ${this.#self.size} did not come within ${this.#timeoutMs / 1000} s${refused}`,
      absent.length === 1 ? absent[0] : -1,
    )
  }

  #name(rank: number): string {
    return nameOf(this.#known[rank]!)
  }

  /** Waits until the condition holds, the time is over (0: no limit), or the signal is aborted. */
  #until(holds: () => boolean, timeoutMs: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const settle = (): void => {
        clearTimeout(timer)
        this.#onChange = () => {}
        signal?.removeEventListener('abort', settle)
        resolve()
      }
      const timer = timeoutMs > 0 ? setTimeout(settle, timeoutMs) : undefined
      signal?.addEventListener('abort', settle)
      this.#onChange = () => holds() && settle()
      if (holds() || signal?.aborted) settle()
    })
  }
}

function memberOf({ rank, host, pid }: Introduction): Member {
  return { rank, host, pid }
}

function joined(parts: readonly Uint8Array[]): Buffer {
  const lengths = Buffer.alloc(4 * parts.length)
  parts.forEach((part, i) => {
    lengths.writeUInt32BE(part.length, 4 * i)
  })
  return Buffer.concat([lengths, ...parts])
}

async function addressOf(host: string): Promise<string> {
  try {
    return (await lookup(host)).address
  } catch (error) {
    throw new GroupError(
      'ERR_GROUP_MEET',
      `'${host}', where rank 0 should be, is not the name of a host (${(error as NodeJS.ErrnoException).code})`,
    )
  }
}
