/**
 * The stage of the attacks: a victim and a bystander in processes of their own, the attacker here.
 *
 *     const stage = await openStage()
 *     … attack stage.victim.host …
 *     await stage.judge()      // the bystander goes on, with right data; memory and descriptors are what they were
 *
 * The attacks belong to the slower suites, where they run `long()` times as long; `npm test` has a short version of some.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { expect } from 'vitest'
import type { QpEndpoint } from '../../src/index.ts'
import { type CmMessage, emitPacket, IcrcFlow, packetLength, type RocePacket } from '../../src/wire/index.ts'
import { loopbackAddress } from '../loopback.ts'
import { emitRequest, ipBytes } from './mads.ts'

/** How many times as much, or as long, in the slower suite. */
export const long = (times: number): number => (process.env.VERBENA_SLOW === '1' ? times : 1)

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Waits for a condition, and fails with its name. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, ms = 30_000): Promise<void> {
  const deadline = performance.now() + ms
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`waited ${ms} ms: ${what}`)
    await sleep(20)
  }
}

export interface Measures {
  rss: number
  heapUsed: number
  descriptors: number
  /** The longest time that the event loop stood still since the last question. */
  longestStallMs: number
  /** How long its threads have waited for a processor since its start, all together. */
  starvedMs: number
  counters: Record<string, number>
  protocolErrors: Record<string, number>
  drops: Record<string, number>
  uncaught: string[]
}

export interface BystanderStats extends Measures {
  blocks: number
  reads: number
  wrong: number
  connects: number
  /** The longest time without a response to a READ since the last question. */
  longestGapMs: number
  errors: string[]
}

export interface VictimStats extends Measures {
  connections: number
}

/** What an attacker that is let in may use. */
export interface Accepted {
  endpoint: QpEndpoint
  qpn: number
  psn: number
  addr: number
  rkey: number
  length: number
}

class Party {
  readonly child: ChildProcess
  readonly host: string
  readonly device: string
  readonly #open = new Map<number, { resolve: (answer: unknown) => void; reject: (error: Error) => void }>()
  #serial = 0

  constructor(role: 'victim' | 'bystander', device: string, host: string, victimHost = '') {
    this.host = host
    this.device = device
    const file = new URL('./party.mjs', import.meta.url)
    this.child = fork(file, [role, device, host, victimHost], {
      execArgv: ['--expose-gc'],
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.child.on('message', (message: { serial?: number; answer?: unknown; failed?: string }) => {
      const waiting = this.#open.get(message.serial ?? -1)
      if (!waiting) return
      this.#open.delete(message.serial!)
      if (message.failed === undefined) waiting.resolve(message.answer)
      else waiting.reject(new Error(message.failed))
    })
    this.child.on('exit', (code, signal) => {
      for (const { reject } of this.#open.values())
        reject(new Error(`the ${role} ended: code ${code}, signal ${signal}`))
      this.#open.clear()
    })
  }

  async ready(): Promise<this> {
    const ended = once(this.child, 'exit').then(([code]) => Promise.reject(new Error(`it ended with code ${code}`)))
    await Promise.race([once(this.child, 'message'), ended])
    ended.catch(() => {})
    return this
  }

  /** Asks; the answer is awaited for as long as the test runs. */
  ask<T>(ask: string, args: object = {}): Promise<T> {
    if (this.child.exitCode !== null || this.child.signalCode !== null)
      return Promise.reject(new Error(`it has ended: code ${this.child.exitCode}, signal ${this.child.signalCode}`))
    const serial = this.#serial++
    return new Promise((resolve, reject) => {
      this.#open.set(serial, { resolve: resolve as (answer: unknown) => void, reject })
      this.child.send({ ask, serial, ...args })
    })
  }

  async end(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    this.child.kill('SIGKILL')
    await once(this.child, 'exit')
  }
}

/** What an attack may leave behind at the victim. */
export interface Limits {
  /** Growth of the resident set in MiB; unless told 48, and 96 in the slower suite. */
  rssMiB?: number
  descriptors?: number
  /** The longest that the victim's event loop, or the bystander's READs, may have stood still, beside waiting for a processor. */
  stallMs?: number
}

export interface Stage {
  victim: Party
  bystander: Party
  /** Addresses of the attacker alone. */
  attackerHosts: string[]
  /** The victim's counters at the beginning. */
  before: VictimStats
  stats(): Promise<{ victim: VictimStats; bystander: BystanderStats }>
  /** Sends from one of the attacker's addresses until the stage closes. */
  sender(i?: number, port?: number): Promise<RawSender>
  /** Runs an attack; the bystander must make progress while it lasts. */
  during<T>(attack: () => Promise<T>): Promise<T>
  judge(limits?: Limits): Promise<VictimStats>
  close(): Promise<void>
}

let used = 0

/** On `roce` by default; `shm:NAME` puts all into one segment. */
export async function openStage(segment?: string): Promise<Stage> {
  const base = used
  used += 10
  const hosts = Array.from({ length: 10 }, (_, i) => loopbackAddress(base + i + 1))
  const [victimHost, bystanderHost, ...attackerHosts] = hosts as [string, string, ...string[]]
  const deviceOf = (host: string) => (segment === undefined ? `roce:${host}` : segment)
  const address = segment === undefined ? victimHost : '127.0.0.1'
  const victim = new Party('victim', deviceOf(victimHost), address)
  const bystander = new Party('bystander', deviceOf(bystanderHost), bystanderHost, address)
  const senders: RawSender[] = []
  const close = async (): Promise<void> => {
    for (const sender of senders.splice(0)) sender.close()
    await Promise.all([victim.end(), bystander.end()])
  }
  try {
    await Promise.all([victim.ready(), bystander.ready()])
    const [theirs, ours] = await Promise.all([
      victim.ask<QpEndpoint>('endpoint'),
      bystander.ask<QpEndpoint>('endpoint'),
    ])
    const access = await victim.ask<{ addr: number; rkey: number }>('connect', { qpn: theirs.qpn, remote: ours })
    await bystander.ask('start', { remote: theirs, ...access })
    const stats = async (): Promise<{ victim: VictimStats; bystander: BystanderStats }> => ({
      victim: await victim.ask<VictimStats>('stats'),
      bystander: await bystander.ask<BystanderStats>('stats'),
    })
    await goesOn(bystander)
    const { victim: before, bystander: bystanderBefore } = await stats()
    const stage: Stage = {
      victim,
      bystander,
      attackerHosts,
      before,
      stats,
      async sender(i = 0, port = 0) {
        const sender = await RawSender.open(attackerHosts[i]!, victimHost, port)
        senders.push(sender)
        return sender
      },
      async during(attack) {
        const start = await bystander.ask<BystanderStats>('stats')
        const result = await attack()
        const end = await bystander.ask<BystanderStats>('stats')
        expect(end.errors).toEqual([])
        expect(end.blocks + end.reads, 'progress of the bystander during the attack').toBeGreaterThan(
          start.blocks + start.reads,
        )
        return result
      },
      async judge(limits = {}) {
        await goesOn(bystander)
        const later = await bystander.ask<{ failure: string | null; ms: number }>('connect')
        expect(later.failure, 'a connection that is made after the attack').toBeNull()
        const end = await stats()
        expect(end.bystander.errors).toEqual([])
        expect(end.bystander.wrong).toBe(0)
        expect(end.victim.uncaught).toEqual([])
        // On a machine with other work all of it may stand still while that runs.
        const starvedMs =
          end.victim.starvedMs - before.starvedMs + (end.bystander.starvedMs - bystanderBefore.starvedMs)
        const stallMs = (limits.stallMs ?? 2500) + starvedMs
        expect(end.victim.longestStallMs).toBeLessThan(stallMs)
        expect(end.bystander.longestGapMs).toBeLessThan(stallMs)
        // What JavaScript holds, after a collection, and then what V8 and the system keep around it.
        expect((end.victim.heapUsed - before.heapUsed) / 2 ** 20, 'MiB more in the heap').toBeLessThan(16)
        expect((end.victim.rss - before.rss) / 2 ** 20, 'MiB more resident').toBeLessThan(limits.rssMiB ?? 48 * long(2))
        // Pipes by which processes wake each other and see each other end, and the watch of the segment's file of each thread that rests, are
        // opened once, some of them after `before`: of each that ever comes at the same time as others.
        expect(end.victim.descriptors - before.descriptors).toBeLessThanOrEqual(limits.descriptors ?? 16)
        return end.victim
      },
      close,
    }
    return stage
  } catch (error) {
    await close()
    throw error
  }
}

/** The bystander does both of what it does, from now on. */
async function goesOn(bystander: Party): Promise<void> {
  const start = await bystander.ask<BystanderStats>('stats')
  await until('the bystander goes on', async () => {
    const now = await bystander.ask<BystanderStats>('stats')
    if (now.errors.length > 0) throw new Error(`the bystander: ${now.errors.join('; ')}`)
    return now.blocks > start.blocks + 3 && now.reads > start.reads + 3
  })
}

/** How much of a counter came since the beginning. */
export function moved(stage: Stage, now: VictimStats, counter: string): number {
  if (now.counters[counter] === undefined) throw new Error(`there is no counter ${counter}`)
  return now.counters[counter] - stage.before.counters[counter]!
}

/** The victim is asked for connection number `i`. */
export function requestOf({ attackerHosts, victim }: Stage, i: number, more: object): CmMessage {
  return emitRequest({ from: attackerHosts[0]!, to: victim.host, port: 7000, serial: i, ...more })
}

/** Sends packets, right or wrong, from an address of its own to UDP port 4791 of the victim. */
export class RawSender {
  readonly #socket: Socket
  readonly #flow: IcrcFlow
  readonly #to: string
  #pending = 0
  sent = 0

  private constructor(socket: Socket, flow: IcrcFlow, to: string) {
    this.#socket = socket
    this.#flow = flow
    this.#to = to
  }

  static async open(from: string, to: string, port = 0): Promise<RawSender> {
    const socket = createSocket('udp4')
    await new Promise<void>((resolve) => socket.bind(port, from, resolve))
    return new RawSender(socket, new IcrcFlow(ipBytes(from), ipBytes(to), socket.address().port), to)
  }

  /** The bytes of a packet with a right ICRC. */
  bytes(packet: RocePacket): Uint8Array {
    const length = packetLength(packet)
    const bytes = new Uint8Array(length + 4)
    emitPacket(packet, bytes, 0)
    return this.seal(bytes)
  }

  /** Computes the ICRC anew, for a packet that was changed. */
  seal(bytes: Uint8Array): Uint8Array {
    this.#flow.write(bytes, 0, bytes.length - 4, 0)
    return bytes
  }

  /** Sends, and waits while the kernel has much of it. */
  async send(bytes: Uint8Array): Promise<void> {
    this.#pending++
    this.sent++
    this.#socket.send(bytes, 4791, this.#to, () => this.#pending--)
    while (this.#pending > 400) await sleep(1)
    if (this.sent % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
  }

  close(): void {
    this.#socket.close()
  }
}
