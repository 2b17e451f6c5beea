/** Settings and results that all programs of the RDMA CM share. */
import type { CmSocketAddress } from '../../index.ts'
import { EndError } from '../kit/index.ts'
import { CmFailure } from './failures.ts'

export interface CommonSettings {
  /** Adapter. Default: the environment variable VERBENA_DEVICE, else `roce`. */
  device?: string | undefined
  /** Milliseconds for which a client retries while no server listens. */
  waitMs: number
  /** Milliseconds without an arrival after which the run is given up; 0: never. */
  stallMs: number
}

/** Output of a program: the command line prints it; with `--json` it is discarded. */
export interface Output {
  /** Writes to standard output. */
  line(text: string): void
  /** Writes to standard error. */
  error(text: string): void
}

export interface RunOptions {
  output: Output
  signal?: AbortSignal | undefined
}

/** Fields of every result. */
export interface CommonResult {
  tool: string
  role: 'client' | 'server'
  device: string
  /** Counters of the adapter at the end; empty if no adapter was opened. */
  counters: Record<string, number>
  /** Reason why the run ended early. */
  failure?: { code: string; message: string; event?: string; status?: number }
}

/** Returns the failure that a result reports. An error that neither the network, the peer nor the user caused is thrown again. */
export function failureOf(error: unknown): NonNullable<CommonResult['failure']> {
  if (!(error instanceof EndError)) throw error
  const { code, message } = error
  return error instanceof CmFailure
    ? { code, message, event: error.event.name, status: error.event.status }
    : { code, message }
}

export function addressText({ address, port }: CmSocketAddress): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
}
