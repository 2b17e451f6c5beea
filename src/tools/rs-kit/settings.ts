/** Settings, results and notices of all programs on rsockets. */
import { EndError } from '../kit/index.ts'

export interface CommonSettings {
  /** Adapter. Default: the environment variable VERBENA_DEVICE, else `roce`. */
  device?: string | undefined
  /** Milliseconds for which a client retries while no server listens. */
  waitMs: number
  /** Milliseconds without an arrival after which the run is given up; 0: never. */
  stallMs: number
}

export interface CommonResult {
  tool: string
  role: 'client' | 'server'
  /** Reason why the run ended early. */
  failure?: { code: string; message: string }
}

/** Output of a program while it runs. */
export interface Notice {
  line?: string
  /** Text without an end of line: more follows on it. */
  part?: string
  error?: string
}

export type Show = (notice: Notice) => void

/** Returns the failure that a result reports. An error that neither the network, the peer nor the user caused is thrown again. */
export function failureOf(error: unknown): NonNullable<CommonResult['failure']> {
  if (!(error instanceof EndError)) throw error
  return { code: error.code, message: error.message }
}

/** Connection of a program's thread to the main thread: the stop word and the output. */
export interface Run {
  /** Shared memory whose word 0 becomes 1 when the run shall end. */
  stop: Int32Array
  show: Show
}
