/**
 * A fleet: processes that all talk with each other over one adapter, of which one after the other is killed and replaced.
 *
 *     const fleet = new Fleet(device, host, seed)
 *     await fleet.start(10)
 *     await fleet.killOne()        // SIGKILL, in the middle of a burst; another takes its place
 *     await fleet.judge()          // what one survivor has sent, the other one has received
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { startable } from '../entries.ts'
import { seededBelow } from '../random.ts'
import { type Command, emptyTally, type Message, type Offer, type Tally } from './messages.ts'

/** Places of the fleet have the ports from here on. */
const firstPort = 18_515
const { file, execArgv } = startable(new URL('./rank.process.ts', import.meta.url))

interface Options {
  readonly device: string
  readonly host: string
  readonly seed: number
  /** How often each process does something with each of the others, milliseconds. */
  readonly paceMs: number
}

class Rank {
  readonly id: number
  readonly place: number
  readonly child: ChildProcess
  readonly #open = new Map<number, { what: string; resolve(answer: unknown): void; reject(error: Error): void }>()
  readonly ready: Promise<unknown>
  #serial = 0

  constructor(
    id: number,
    place: number,
    { device, host, seed, paceMs }: Options,
    onTrouble: (what: string, peer: number) => void,
  ) {
    this.id = id
    this.place = place
    const numbers = [id, firstPort + place, seed + id, paceMs].map(String)
    this.child = fork(file, [device, host, ...numbers], { execArgv, serialization: 'advanced' })
    this.ready = new Promise((resolve, reject) => this.#open.set(-1, { what: 'start', resolve, reject }))
    this.child.on('message', (message: Message) => {
      if ('trouble' in message) onTrouble(message.trouble, message.peer)
      else {
        const waiting = this.#open.get(message.serial)
        this.#open.delete(message.serial)
        if ('failed' in message) waiting?.reject(new Error(`process ${id}: ${message.failed}`))
        else waiting?.resolve(message.answer)
      }
    })
    this.child.on('exit', (code, signal) => {
      if (signal !== 'SIGKILL' && code !== 0) onTrouble(`it ended with code ${code}, signal ${signal}`, id)
      for (const { reject } of this.#open.values()) reject(new Error(`process ${id} ended: ${code ?? signal}`))
      this.#open.clear()
    })
  }

  /** What it has been asked and not answered. */
  get unanswered(): string[] {
    return [...this.#open.values()].map(({ what }) => `process ${this.id}: ${what}`)
  }

  ask<T>(command: Command): Promise<T> {
    const serial = this.#serial++
    const answer = new Promise<T>((resolve, reject) =>
      this.#open.set(serial, { what: command.do, resolve: resolve as (answer: unknown) => void, reject }),
    )
    this.child.send({ serial, command }, (error) => {
      if (error) this.#open.get(serial)?.reject(error)
    })
    return answer
  }
}

export class Fleet {
  readonly #options: Options
  readonly #random: (limit: number) => number
  readonly #ranks = new Map<number, Rank>()
  readonly #killed = new Set<number>()
  /** Those in `#ranks`, and those that start. */
  readonly #all = new Set<Rank>()
  readonly #coming = new Set<Promise<void>>()
  #nextId = 1
  /** What must not have happened. */
  readonly troubles: string[] = []
  /** What happened, for one who looks into a failure. */
  readonly log: string[] = []
  readonly #startMs = performance.now()

  constructor(options: Options) {
    this.#options = options
    this.#random = seededBelow(options.seed)
  }

  #note(what: string): void {
    this.log.push(`${((performance.now() - this.#startMs) / 1000).toFixed(2)} s  ${what}`)
  }

  async start(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, (_, place) => this.#add(place)))
  }

  /** A process in this place, connected with all others. */
  async #add(place: number): Promise<void> {
    const id = this.#nextId++
    const rank = new Rank(id, place, this.#options, (what, peer) => this.#trouble(id, peer, what))
    this.#all.add(rank)
    rank.child.once('exit', () => this.#all.delete(rank))
    this.#note(`process ${id} (pid ${rank.child.pid}) starts in place ${place}`)
    await rank.ready
    const others = [...this.#ranks.values()]
    this.#ranks.set(id, rank)
    await Promise.all(others.map((other) => this.#connect(rank, other)))
    this.#note(`process ${id} is connected with ${others.length} others`)
  }

  async #connect(one: Rank, other: Rank): Promise<void> {
    try {
      const [first, second] = await Promise.all([
        one.ask<Offer>({ do: 'offer', peer: other.id }),
        other.ask<Offer>({ do: 'offer', peer: one.id }),
      ])
      // The one that is dialled knows of the peer first.
      await other.ask({ do: 'connect', offer: first, dials: false })
      await one.ask({ do: 'connect', offer: second, dials: true })
      await Promise.all([one.ask({ do: 'talk', peer: other.id }), other.ask({ do: 'talk', peer: one.id })])
    } catch (error) {
      // One that was killed meanwhile.
      if (!this.#killed.has(one.id) && !this.#killed.has(other.id)) throw error
    }
  }

  #trouble(id: number, peer: number, what: string): void {
    const excused = this.#killed.has(peer) || this.#killed.has(id)
    const text = `process ${id}, with process ${peer}: ${what}`
    this.#note(excused ? `${text} (killed)` : text)
    if (!excused) this.troubles.push(text)
  }

  /** Kills one in the middle of what it does, perhaps while it still connects; another takes its place, which is not waited for. */
  async killOne(): Promise<void> {
    const ranks = [...this.#ranks.values()]
    const victim = ranks[this.#random(ranks.length)]!
    await victim.ask({ do: 'rush' })
    await new Promise((resolve) => setTimeout(resolve, this.#random(40)))
    this.#killed.add(victim.id)
    this.#ranks.delete(victim.id)
    this.#note(`process ${victim.id} is killed`)
    victim.child.kill('SIGKILL')
    await once(victim.child, 'exit')
    await Promise.all([...this.#ranks.values()].map((rank) => rank.ask({ do: 'forget', peer: victim.id })))
    const added = this.#add(victim.place).catch((error: Error) => {
      this.troubles.push(`in the place of process ${victim.id}: ${error.message}`)
    })
    this.#coming.add(added)
    void added.then(() => this.#coming.delete(added))
  }

  /** How many there are, without those that only come. */
  get size(): number {
    return this.#ranks.size
  }

  /** All stop; what each has sent to another has come, but for datagrams. Gives the sums, and the longest gap of any connection. */
  async judge(patienceMs: number): Promise<Tally> {
    await Promise.all(this.#coming)
    const ranks = [...this.#ranks.values()]
    await Promise.all(ranks.map((rank) => rank.ask({ do: 'stop' })))
    const deadline = performance.now() + patienceMs
    for (;;) {
      const told = await Promise.all(ranks.map((rank) => rank.ask<Record<number, Tally>>({ do: 'tell' })))
      const tallies = new Map(ranks.map(({ id }, i) => [id, told[i]!]))
      const missing = [...this.#missing(tallies)]
      if (missing.length === 0) return sum(told.flatMap((one) => Object.values(one)))
      if (performance.now() > deadline) {
        this.troubles.push(...missing)
        return sum([])
      }
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  *#missing(tallies: ReadonlyMap<number, Record<number, Tally>>): Generator<string> {
    for (const [from, told] of tallies)
      for (const [to, theirs] of tallies) {
        if (from === to) continue
        const { sent } = told[to]!
        const { received } = theirs[from]!
        for (const kind of ['messages', 'writes', 'bytes'] as const)
          if (sent[kind] !== received[kind])
            yield `of ${sent[kind]} ${kind} from process ${from} to process ${to} came ${received[kind]}`
      }
  }

  /** All end by themselves. */
  async end(): Promise<void> {
    const ranks = [...this.#ranks.values()]
    const exits = ranks.map(({ child }) => once(child, 'exit'))
    await Promise.all(ranks.map((rank) => rank.ask({ do: 'end' })))
    for (const { child } of ranks) child.disconnect()
    await Promise.all(exits)
    this.#ranks.clear()
  }

  /** Whom the test waits for, those that only come included. */
  unanswered(): string {
    return [...this.#all].flatMap((rank) => rank.unanswered).join(', ') || 'nothing'
  }

  /** After a failure. */
  kill(): void {
    for (const { id, child } of this.#all) {
      this.#killed.add(id)
      child.kill('SIGKILL')
    }
  }
}

function sum(tallies: readonly Tally[]): Tally {
  const all = emptyTally()
  for (const { sent, received, verified, longestGapMs } of tallies) {
    for (const kind of ['messages', 'writes', 'datagrams', 'bytes'] as const) {
      all.sent[kind] += sent[kind]
      all.received[kind] += received[kind]
    }
    all.verified += verified
    all.longestGapMs = Math.max(all.longestGapMs, longestGapMs)
  }
  return all
}
