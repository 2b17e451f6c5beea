/** Largest and slowest messages of a window: a small number, each with its exact data. */
import { type Operation, opcodeTable } from '../wire/index.ts'
import { mostMs } from './config.ts'
import { keyWords } from './key.ts'

/** Message among the largest or slowest. */
export interface Message {
  /** Key of the flow that sent it, or for a READ, of the flow that requested it. */
  key: number[]
  operation: Operation
  /** PSN of its first packet. */
  psn: number
  bytes: number
  packets: number
  /** Milliseconds since 1970 of its last packet. */
  atMs: number
  /** Time from its first packet to its last; for a READ or an atomic operation, from the request to the last response. */
  ns: number
}

export const mostMessages = 32

export class TopMessages {
  readonly list: Message[] = []
  readonly #by: 'bytes' | 'ns'

  constructor(by: 'bytes' | 'ns') {
    this.#by = by
  }

  /** True if a message of this size or duration would be kept. */
  wants(value: number): boolean {
    return this.list.length < mostMessages || value > this.list.at(-1)![this.#by]
  }

  add(message: Message): void {
    const by = this.#by
    let at = this.list.length
    while (at > 0 && this.list[at - 1]![by] < message[by]) at--
    if (at === mostMessages) return
    this.list.splice(at, 0, message)
    if (this.list.length > mostMessages) this.list.pop()
  }

  merge(other: TopMessages): void {
    for (const message of other.list) this.add(message)
  }
}

const operations: ReadonlySet<unknown> = new Set(opcodeTable.map((info) => info?.operation).filter(Boolean))

/** True if the value, which may come from another process, is a message. */
export function isMessage(value: unknown): value is Message {
  const one = value as Message
  return (
    typeof one === 'object' &&
    one !== null &&
    Array.isArray(one.key) &&
    one.key.length === keyWords &&
    one.key.every((word) => Number.isInteger(word)) &&
    operations.has(one.operation) &&
    [one.psn, one.bytes, one.packets, one.atMs, one.ns].every((number) => Number.isFinite(number) && number >= 0) &&
    one.atMs <= mostMs
  )
}

/** Returns a message without properties that are not part of one. */
export function messageOnly({ key, operation, psn, bytes, packets, atMs, ns }: Message): Message {
  return { key, operation, psn, bytes, packets, ns, atMs }
}
