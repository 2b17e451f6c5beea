/** Input of a command's handler. */
import type { Call } from '../door.ts'
import type { CmFile } from './station.ts'

export interface Command {
  readonly file: CmFile
  readonly call: Call
  /** Function of librdmacm that sends the command. */
  readonly verb: string
  /** Request after the header; as long as its structure, with zeros for fields that an old library leaves out. */
  readonly request: Uint8Array
  /** Room for the answer. */
  readonly room: number
}

export interface Answer {
  readonly bytes: Uint8Array
  /** Reverts the command, if the answer cannot be written. */
  undo?(): void
}

export type Handler = (command: Command) => Answer | undefined
