/** Rank other than 0: one connection to rank 0. */
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { GroupError } from './error.ts'
import { type Exchanged, type ExchangeKind, exchangeName, type Port, withLimit } from './exchange.ts'
import { failureOf, failureText, type Introduction, limitOf, type Member, mostGathered, nameOf } from './group.ts'
import { type Found, introduceTo, type Secret, secretAt } from './handshake.ts'
import { Kind, Link } from './link.ts'
import type { Place } from './place.ts'

const pauseMs = 50
const connectMs = 5000
/** Milliseconds that this rank waits longer than rank 0, which knows first which rank is late; this rank reports only if rank 0 does not. */
const graceMs = 5000

export class Spoke implements Port {
  onFailure: (error: GroupError) => void = () => {}
  failure: GroupError | null = null
  readonly #self: Introduction
  readonly #secret: Omit<Secret, 'port'>
  readonly #timeoutMs: number
  #link: Link | null = null
  #left = false
  #hubLeft = false
  #waiting: { kind: ExchangeKind; settle: (content: Buffer) => void } | null = null

  constructor(self: Introduction, secret: Omit<Secret, 'port'>, timeoutMs: number) {
    this.#self = self
    this.#secret = secret
    this.#timeoutMs = timeoutMs
  }

  /** Finds rank 0 and waits until all ranks have joined. Throws GroupError. */
  async meet(place: Place, signal: AbortSignal | undefined): Promise<Member[]> {
    const link = await this.#find(place, signal)
    link.limit = (mostGathered + 4) * this.#self.size + 64
    const members = await new Promise<Member[]>((resolve, reject) => {
      const stop = (): void => {
        link.destroy()
        reject(new GroupError('ERR_GROUP_CLOSED', 'interrupted while the ranks met'))
      }
      signal?.addEventListener('abort', stop)
      link.onFrame = (kind, content) => {
        signal?.removeEventListener('abort', stop)
        if (kind === Kind.Ready) resolve(this.#begin(link, JSON.parse(content.toString()) as Member[]))
        else reject(failureOf(content))
      }
      link.onEnd = (why) => reject(new GroupError('ERR_GROUP_GONE', `rank 0 is gone: ${why}`, 0))
      if (signal?.aborted) stop()
      link.resume()
    }).catch(async (error: unknown) => {
      await link.close()
      throw error
    })
    return members
  }

  #begin(link: Link, members: Member[]): Member[] {
    this.#link = link
    link.onFrame = (kind, content) => this.#receive(kind, content)
    link.onEnd = (why) => {
      if (this.#left || this.#hubLeft) return
      this.#failed(new GroupError('ERR_GROUP_GONE', `${nameOf(members[0]!)} is gone: ${why}`, 0))
    }
    return members
  }

  exchange(kind: ExchangeKind, bytes: Uint8Array, timeoutMs: number): Promise<Exchanged> {
    return new Promise((resolve) => {
      const late = (): void => {
        const seconds = timeoutMs / 1000
        const message = `rank 0 did not answer to ${exchangeName(kind)} within ${seconds} s`
        this.fail(new GroupError('ERR_GROUP_MISSING', message, 0))
      }
      const timer = timeoutMs > 0 ? setTimeout(late, limitOf(timeoutMs + graceMs)).unref() : undefined
      const settle = (content: Buffer): void => {
        clearTimeout(timer)
        this.#waiting = null
        resolve(kind === Kind.Gather ? partsOf(content, this.#self.size) : [])
      }
      this.#waiting = { kind, settle }
      this.#link?.send(kind, withLimit(timeoutMs, bytes))
    })
  }

  fail(error: GroupError): void {
    if (this.failure !== null) return
    this.#link?.send(Kind.Fail, failureText(error))
    this.#failed(error)
  }

  async close(): Promise<void> {
    this.#left = true
    if (this.failure === null) this.#link?.send(Kind.Bye)
    await this.#link?.close()
  }

  #receive(kind: number, content: Buffer): void {
    if (kind === Kind.Fail) this.#failed(failureOf(content))
    else if (kind === Kind.Bye) this.#hubLeft = true
    else if (this.#waiting?.kind === kind) this.#waiting.settle(content)
    else this.fail(new GroupError('ERR_GROUP_FAILED', `rank 0 sent what nobody waits for (${kind})`, 0))
  }

  #failed(error: GroupError): void {
    if (this.failure !== null) return
    this.failure = error
    this.onFailure(error)
  }

  /** Tries all ports of the place until rank 0 answers. */
  async #find({ host, ports }: Place, signal: AbortSignal | undefined): Promise<Link> {
    const end = this.#timeoutMs > 0 ? performance.now() + this.#timeoutMs : Number.POSITIVE_INFINITY
    const seen = new Map<number, Found | string>()
    for (;;) {
      for (const port of ports) {
        if (signal?.aborted) throw new GroupError('ERR_GROUP_CLOSED', 'interrupted while the ranks met')
        const leftMs = end - performance.now()
        if (leftMs <= 0) throw new GroupError('ERR_GROUP_MISSING', this.#notFound(host, seen), 0)
        try {
          const link = await connectOnce(host, port, Math.min(connectMs, leftMs))
          const found = await introduceTo(link, secretAt(this.#secret, ports, port), this.#self, leftMs)
          if (found === 'ours') return link
          seen.set(port, found)
        } catch (error) {
          seen.set(port, (error as NodeJS.ErrnoException).code ?? String(error))
        }
      }
      await delay(pauseMs)
    }
  }

  #notFound(host: string, seen: ReadonlyMap<number, Found | string>): string {
    const what: Record<string, string> = {
      refused: 'who listens there has another key (VERBENA_KEY) or belongs to another job',
      stranger: 'another program listens there',
      ECONNREFUSED: 'nobody listens there',
    }
    const texts = [...seen].map(([port, found]) => `port ${port}: ${what[found] ?? found}`)
    return `rank 0 was not found on ${host} within ${this.#timeoutMs / 1000} s (${texts.join('; ')})`
  }
}

/** Connects once. Throws the error of the system. */
export function connectOnce(host: string, port: number, timeoutMs: number): Promise<Link> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port })
    const timer = setTimeout(() => {
      socket.destroy()
      reject(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' }))
    }, timeoutMs)
    socket.once('error', (error) => {
      clearTimeout(timer)
      reject(error)
    })
    socket.once('connect', () => {
      clearTimeout(timer)
      socket.removeAllListeners('error')
      // A socket may connect to itself if no process listens and the system chose the same port for the client.
      if (socket.localPort === port && socket.localAddress === socket.remoteAddress) {
        socket.destroy()
        reject(Object.assign(new Error('nobody listens'), { code: 'ECONNREFUSED' }))
        return
      }
      resolve(new Link(socket))
    })
  })
}

function partsOf(content: Buffer, size: number): Uint8Array[] {
  const parts: Uint8Array[] = []
  let at = 4 * size
  for (let rank = 0; rank < size; rank++) {
    const length = content.readUInt32BE(4 * rank)
    parts.push(content.subarray(at, at + length))
    at += length
  }
  return parts
}
