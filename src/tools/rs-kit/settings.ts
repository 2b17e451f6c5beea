/** What all programs on rsockets can be told, and what they tell. */
import { EndError } from '../kit/index.ts'

export interface CommonSettings {
  /** Default: the environment variable VERBENA_DEVICE, else `roce`. */
  device?: string | undefined
  /** How long a client tries while nobody listens, milliseconds. */
  waitMs: number
  /** How long nothing may come before the run is given up, milliseconds; 0: for ever. */
  stallMs: number
}

export interface CommonResult {
  tool: string
  role: 'client' | 'server'
  /** Why it ended early. */
  failure?: { code: string; message: string }
}

/** What a program tells while it runs. */
export interface Notice {
  line?: string
  /** Without an end of line: more follows on it. */
  part?: string
  error?: string
}

export type Tell = (notice: Notice) => void

/** What a result says of an error. One that is no doing of the network, the peer or the person is thrown again. */
export function failureOf(error: unknown): NonNullable<CommonResult['failure']> {
  if (!(error instanceof EndError)) throw error
  return { code: error.code, message: error.message }
}

/** What a thread needs of the other one: when to stop. */
export interface Run {
  /** Word 0 becomes 1 when the run shall end. */
  stop: Int32Array
  tell: Tell
}
