/** What all programs of the RDMA CM can be told, and what they tell. */
import type { CmSocketAddress } from '../../index.ts'
import { EndError } from '../kit/index.ts'
import { CmFailure } from './failures.ts'

export interface CommonSettings {
  /** Default: the environment variable VERBENA_DEVICE, else `roce`. */
  device?: string | undefined
  /** How long a client tries while nobody listens, milliseconds. */
  waitMs: number
  /** How long nothing may come before the run is given up, milliseconds; 0: for ever. */
  stallMs: number
}

/** Where a program writes. The command line prints; with `--json` nothing is. */
export interface Output {
  /** To standard output. */
  line(text: string): void
  /** To standard error. */
  error(text: string): void
}

export interface RunOptions {
  output: Output
  signal?: AbortSignal | undefined
}

/** What every result has. */
export interface CommonResult {
  tool: string
  role: 'client' | 'server'
  device: string
  /** Counters of the adapter at the end; empty if it came to none. */
  counters: Record<string, number>
  /** Why it ended early. */
  failure?: { code: string; message: string; event?: string; status?: number }
}

/** What a result says of an error. One that is no doing of the network, the peer or the person is thrown again. */
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
