/** What a communicator has opened on its device. */
import type { Context, ProtectionDomain } from '../index.ts'
import type { Memory } from './memory.ts'

interface Closable {
  close(): void
}

/** What all parts of a communicator use. */
export interface Device {
  context: Context
  pd: ProtectionDomain
  memory: Memory
  opened: Opened
}

/** Closes what was opened in the reverse order, also when opening ends half-way. */
export class Opened {
  readonly #all: Closable[] = []

  add<T extends Closable>(one: T): T {
    this.#all.push(one)
    return one
  }

  close(): void {
    for (let one = this.#all.pop(); one !== undefined; one = this.#all.pop()) one.close()
  }
}
