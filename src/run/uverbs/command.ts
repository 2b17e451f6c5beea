/** Input and output of a command's handler. */
import type { Call } from '../door.ts'

/** A command of write(2), by either way. */
export interface Command {
  /** Function of the library that sends it, for reasons of errors. */
  readonly verb: string
  readonly call: Call
  /** Request, with zeros up to the length of all its known fields. */
  readonly core: Uint8Array
  /** Bytes that the provider has appended. */
  readonly driver: Uint8Array
  /** Bytes of room for the response in the program, and for the provider's part of it. */
  readonly coreRoom: number
  readonly driverRoom: number
}

export interface Answer {
  core?: Uint8Array
  driver?: Uint8Array
  /** Reverts the command: the answer could not be written, so that the program will never learn of it. */
  undo?: () => void
}
