/**
 * Schedules carried out in memory, all ranks at once: ranks take turns at random, and messages either wait at their receiver
 * (`eager`) or go only when the receiver is there. Fails for what a real peer would make of a wrong schedule: a message of
 * another length, a deadlock, a write to the input, a transfer that meets another one's memory in the same round.
 */
import { Place, type Round, type Schedule, type Transfer } from '../../src/collectives/schedule/index.ts'

export interface Memory {
  input: Int32Array
  output: Int32Array
}

interface Waiting {
  transfer: Transfer
  done: boolean
}

class Rank {
  round = -1
  sends: Waiting[] = []
  receives: Waiting[] = []
  readonly places: Uint8Array[]
  readonly schedule: Schedule
  readonly rank: number
  readonly size: number
  constructor(schedule: Schedule, memory: Memory, rank: number, size: number) {
    this.schedule = schedule
    this.rank = rank
    this.size = size
    const bytesOf = ({ buffer, byteOffset, byteLength }: Int32Array) => new Uint8Array(buffer, byteOffset, byteLength)
    this.places = [bytesOf(memory.input), bytesOf(memory.output), new Uint8Array(schedule.scratchBytes).fill(0xee)]
  }

  /** Begins the next round; false after the last. */
  begin(): boolean {
    const round = this.schedule.rounds[++this.round]
    if (round === undefined) return false
    for (const { from, fromOffset, to, toOffset, bytes } of round.copies) {
      if (to === Place.Input) throw new Error('the input is written')
      this.range(to, toOffset, bytes).set(this.range(from, fromOffset, bytes))
    }
    noClash(round)
    const { sends, receives } = this.#transfers(round)
    this.sends = sends.map((transfer) => ({ transfer, done: false }))
    this.receives = receives.map((transfer) => ({ transfer, done: false }))
    return true
  }

  /** A multicast is a message to each. */
  #transfers({ sends, receives, multicast }: Round): Pick<Round, 'sends' | 'receives'> {
    if (multicast === undefined) return { sends, receives }
    if (sends.length + receives.length > 0) throw new Error('a multicast has other transfers beside it')
    const { root, ...range } = multicast
    const plain = { ...range, combine: false, base: range.place }
    if (root !== this.rank) return { sends, receives: [{ ...plain, peer: root }] }
    const peers = Array.from({ length: this.size }, (_, peer) => peer).filter((peer) => peer !== root)
    return { sends: peers.map((peer) => ({ ...plain, peer })), receives }
  }

  get over(): boolean {
    return this.sends.every(({ done }) => done) && this.receives.every(({ done }) => done)
  }

  range(place: Place, offset: number, bytes: number): Uint8Array {
    const all = this.places[place]!
    if (offset < 0 || bytes < 0 || offset + bytes > all.length)
      throw new Error(`${offset} to ${offset + bytes} is beyond place ${place} of ${all.length} bytes`)
    return all.subarray(offset, offset + bytes)
  }
}

function noClash({ sends, receives }: Round): void {
  const meet = (a: Transfer, b: Transfer): boolean =>
    a.place === b.place && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes
  for (const [i, receive] of receives.entries()) {
    if (receive.place === Place.Input) throw new Error('the input is written')
    if (sends.some((send) => !receive.combine && meet(send, receive))) throw new Error('a receive meets a send')
    if (receives.some((other, j) => j > i && meet(receive, other) && !(receive.combine && other.combine)))
      throw new Error('two receives meet')
  }
}

/** `pick(n)` chooses one of n. `combine` on 32-bit elements. */
export function simulate(
  schedules: readonly Schedule[],
  memories: readonly Memory[],
  how: { eager: boolean; pick: (n: number) => number; combine: (a: number, b: number) => number },
): { messages: number; bytes: number } {
  const ranks = schedules.map((schedule, i) => new Rank(schedule, memories[i]!, i, schedules.length))
  const size = ranks.length
  /** From rank to rank: what was sent and not received. */
  const lines: Uint8Array[][] = Array.from({ length: size * size }, () => [])
  let active = ranks.map((_, i) => i).filter((i) => ranks[i]!.begin())
  const total = { messages: 0, bytes: 0 }

  const taken = (me: number, waiting: Waiting, message: Uint8Array): void => {
    const { place, offset, bytes, combine, base } = waiting.transfer
    if (message.length !== bytes) throw new Error(`${message.length} bytes came where ${bytes} were expected`)
    const into = ranks[me]!.range(place, offset, bytes)
    if (combine) {
      const a = new Int32Array(ranks[me]!.range(base, offset, bytes).slice().buffer)
      const b = new Int32Array(message.slice().buffer)
      into.set(new Uint8Array(a.map((x, i) => how.combine(x, b[i]!)).buffer))
    } else into.set(message)
    waiting.done = true
  }
  const step = (me: number): boolean => {
    const rank = ranks[me]!
    let moved = false
    for (const [i, waiting] of rank.sends.entries()) {
      const { peer, place, offset, bytes } = waiting.transfer
      if (waiting.done) continue
      // Those to one peer go one after the other.
      if (rank.sends.slice(0, i).some((earlier) => !earlier.done && earlier.transfer.peer === peer)) continue
      const ready = ranks[peer]!.receives.some(({ done, transfer }) => !done && transfer.peer === me)
      if (!how.eager && (!ready || lines[me * size + peer]!.length > 0)) continue
      lines[me * size + peer]!.push(rank.range(place, offset, bytes).slice())
      total.messages++
      total.bytes += bytes
      waiting.done = moved = true
    }
    for (const [i, waiting] of rank.receives.entries()) {
      const { peer, combine } = waiting.transfer
      if (waiting.done) continue
      const before = rank.receives.slice(0, i).filter(({ done }) => !done)
      if (before.some(({ transfer }) => transfer.peer === peer || (combine && transfer.combine))) continue
      if (combine && rank.sends.some(({ done }) => !done)) continue
      const message = lines[peer * size + me]!.shift()
      if (message === undefined) continue
      taken(me, waiting, message)
      moved = true
    }
    return moved
  }

  let idle = 0
  while (active.length > 0) {
    const me = active[how.pick(active.length)]!
    idle = step(me) ? 0 : idle + 1
    const rank = ranks[me]!
    while (rank.over) {
      idle = 0
      if (!rank.begin()) {
        active = active.filter((i) => i !== me)
        break
      }
    }
    if (idle > 50 * active.length + 1000 && !active.some((i) => step(i)))
      throw new Error(`ranks ${active.join(', ')} wait for ever`)
  }
  if (lines.some((line) => line.length > 0)) throw new Error('a message was never received')
  return total
}
