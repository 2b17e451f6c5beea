/** Code that `ucmatose`, `udaddy` and `mckey` share: start and end of a run, and its result. */
import type { CmId } from '../../index.ts'
import { EndError } from '../kit/index.ts'
import { CmFailure } from './failures.ts'
import type { MessageEnd } from './messages.ts'
import {
  addressText,
  type CommonResult,
  type CommonSettings,
  failureOf,
  type Output,
  type RunOptions,
} from './settings.ts'
import { Station } from './station.ts'

export interface MessageResult extends CommonResult {
  /** Bytes of a message. */
  messageSize: number
  messageCount: number
  connections: { local: string; peer: string; sent: number; received: number }[]
  /** Seconds from the first step of the client, or the first request to the server, to the end. */
  seconds: number
}

export interface MessageRun<S> {
  settings: S
  station: Station
  output: Output
  ends: MessageEnd[]
  /** Starts the clock of `seconds`. */
  begin(): void
}

interface RunInit<S> {
  tool: string
  /** Name of the program in its output. */
  title: string
  role: 'client' | 'server'
  settings: S
  options: RunOptions
}

export async function runMessages<S extends CommonSettings & { messageCount: number; messageSize: number }>(
  { tool, title, role, settings, options }: RunInit<S>,
  play: (run: MessageRun<S>) => Promise<void>,
): Promise<MessageResult> {
  const { output, signal } = options
  const { messageCount, messageSize } = settings
  const station = new Station({ device: settings.device, stallMs: settings.stallMs, signal })
  const ends: MessageEnd[] = []
  const result: MessageResult = {
    tool,
    role,
    device: '',
    counters: {},
    messageSize,
    messageCount,
    connections: [],
    seconds: 0,
  }
  let start: number | undefined
  const begin = (): void => {
    start ??= performance.now()
  }
  output.line(`${title}: starting ${role}`)
  try {
    await play({ settings, station, output, ends, begin })
  } catch (error) {
    result.failure = failureOf(error)
    if (error instanceof CmFailure) output.line(`${title}: event: ${error.event.name}, error: ${error.event.status}`)
  } finally {
    if (start !== undefined) result.seconds = (performance.now() - start) / 1000
    result.device = ends[0]?.id.verbs?.name ?? ''
    for (const end of ends) {
      const { id, sent, received } = end
      result.connections.push({ local: addressText(id.localAddress), peer: peerOf(id), sent, received })
      end.close()
      id.close()
    }
    result.counters = station.counters()
    station.close()
  }
  output.line('test complete')
  output.line(`return status ${result.failure === undefined ? 0 : (result.failure.status ?? -1)}`)
  return result
}

function peerOf({ peerAddress }: CmId): string {
  return peerAddress === undefined ? '' : addressText(peerAddress)
}

/** Waits for all of them, then throws the error of the first that failed. */
export async function all(promises: Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(promises)
  const failed = outcomes.filter((outcome): outcome is PromiseRejectedResult => outcome.status === 'rejected')
  const reason: unknown = (failed.find(({ reason }) => reason instanceof EndError) ?? failed[0])?.reason
  if (reason !== undefined) throw reason
}
