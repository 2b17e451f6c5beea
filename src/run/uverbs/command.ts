/** A command on its way: what a handler gets, and what it gives. */
import type { Call } from '../door.ts'

/** A command of write(2), whichever way it came. */
export interface Command {
  /** The function of the library that sends it, for reasons of errors. */
  readonly verb: string
  readonly call: Call
  /** The request, with zeros up to all that is known of it. */
  readonly core: Uint8Array
  /** Bytes that the provider has appended. */
  readonly driver: Uint8Array
  /** Bytes that the program has for the response, and for what the provider gets with it. */
  readonly coreRoom: number
  readonly driverRoom: number
}

export interface Answer {
  core?: Uint8Array
  driver?: Uint8Array
  /** Takes back what was done: the answer could not be written, so that the program will never know of it. */
  undo?: () => void
}
