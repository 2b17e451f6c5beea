/** Resources that a communicator has opened on its device. */
import type { Context, ProtectionDomain } from '../index.ts'
import type { Memory } from './memory.ts'

interface Closable {
  close(): void
}

/** Resources that all parts of a communicator use. */
export interface Device {
  context: Context
  pd: ProtectionDomain
  memory: Memory
  opened: Opened
}

/** Closes the opened resources in the reverse order, also if the opening fails half-way. */
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
