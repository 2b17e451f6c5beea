/** `verbena replay server` */
import type { Command } from 'commander'
import { endWith, exitCodes, interruptible, note, print, printJson } from '../../cli/terminal/index.ts'
import {
  addDeviceOption,
  addGidOption,
  addRunOptions,
  apart,
  defaultPort,
  listenOnce,
  localPort,
  meetingPlace,
  openNamed,
  parseGidIndex,
  parseInteger,
  type RunOptions,
  runSettings,
  UsageError,
  type Wire,
} from '../kit/index.ts'
import { type EndReport, ReplayEnd } from './end.ts'
import { receive, receiveEndpoints, receivePlan, say, sendEndpoints, sendReport } from './meeting.ts'

const help = `
The server waits for one client, is the other end of its connections, sends the messages of that end at their times, and ends.

Examples:
  verbena replay server -d roce:10.77.0.2
  verbena replay server -d shm:lab`

export interface EndOptions extends RunOptions {
  device?: string
  port?: string
  gidIndex?: string
}

export function addEndOptions(command: Command): void {
  command.option('-p, --port <port>', `TCP port on which the ends meet (default: ${defaultPort})`)
  addDeviceOption(command, { fallback: meetingPlace })
  addGidOption(command, '-x')
  addRunOptions(command)
}

export interface EndSettings {
  device: string | undefined
  port: number
  gidIndex: number
  waitMs: number
  stallMs: number
}

export function endSettings({ device, port, gidIndex, ...run }: EndOptions): EndSettings {
  return {
    device: device || undefined,
    port: parseInteger('-p', port, defaultPort, 1, 65_535),
    gidIndex: parseGidIndex('-x', gidIndex),
    ...runSettings(run),
  }
}

export function configure(command: Command): void {
  command.description('Be the other end of a replay: send its messages.')
  addEndOptions(command)
  command.addHelpText('after', help).action(async (options: EndOptions) => {
    const settings = endSettings(options)
    const stop = interruptible('')
    const context = openNamed(settings.device)
    try {
      const local = localPort(context, 1, settings.gidIndex, '-x')
      const onListening = (): void => {
        if (!options.json) note(`waiting on TCP port ${settings.port}`)
      }
      const wire = await listenOnce(settings.port, { signal: stop.signal, onListening })
      const report = await telling(wire, () => serve(wire, context, local, stop.signal))
      const { performed, ...rest } = report
      const result = { performed: performed.filter(({ doneNs }) => doneNs !== null).length, ...rest }
      if (options.json) printJson(result)
      else {
        print(`performed      ${result.performed} messages`)
        print(`received       ${rest.received.messages} messages, ${rest.received.bytes} bytes`)
        if (rest.failure !== null) print(`failed         ${rest.failed} messages: ${rest.failure}`)
      }
      endWith(stop.exitCode() ?? (rest.failed + rest.wrongSizes > 0 ? exitCodes.failed : exitCodes.done))
    } finally {
      context.close()
      stop.dispose()
    }
  })
}

/** Runs `body`; sends its error to the peer before throwing it. */
export async function telling<T>(wire: Wire, body: () => Promise<T>): Promise<T> {
  try {
    return await body()
  } catch (error) {
    if (!wire.ended)
      await say(wire, { type: 'error', message: (error as Error).message.slice(0, 2000) }).catch(() => {})
    throw error
  } finally {
    wire.close()
  }
}

async function serve(
  wire: Wire,
  context: ReturnType<typeof openNamed>,
  local: ReturnType<typeof localPort>,
  signal: AbortSignal,
): Promise<EndReport> {
  const { plan, device } = await receivePlan(wire)
  const why = apart(context.name, device)
  if (why !== undefined) throw new UsageError('-d', why)
  const end = new ReplayEnd(context, plan, 1, local)
  try {
    const remote = await receiveEndpoints(wire, plan.connections.length)
    await sendEndpoints(wire, context.name, end.endpoints)
    end.connect(remote.endpoints)
    end.prepare()
    await say(wire, { type: 'ready' })
    await receive(wire, 30_000, 'ready')
    await receive(wire, 30_000, 'start')
    const ended = new AbortController()
    const forget = wire.onEnd(() => ended.abort())
    const report = await end.run(AbortSignal.any([signal, ended.signal]))
    forget()
    // Before that, the client may read from this end, or need an acknowledgement again.
    if (!signal.aborted) await receive(wire, Number.POSITIVE_INFINITY, 'done')
    await sendReport(wire, report)
    return report
  } finally {
    end.close()
  }
}
