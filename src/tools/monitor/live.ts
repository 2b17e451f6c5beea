/** Live sources of `verbena monitor watch`: interfaces of this host, and the devices of a command. */
import { exitCodes, type Interruption, note } from '../../cli/terminal/index.ts'
import { openLive } from '../../collect/index.ts'
import { nativeCrc32 } from '../../memory/index.ts'
import { watchCapture, watchLive } from '../../monitor/host/index.ts'
import { Observer, OneView } from '../../monitor/index.ts'
import { type TraceOptions, useCrc32 } from '../../trace/index.ts'
import { UsageError } from '../kit/index.ts'
import { interfacesOf, noteDamage, readingOf, tapCommand } from '../trace-kit/index.ts'
import { nameOf } from './agent.ts'
import type { Run } from './run.ts'

export async function watchInterfaces(_files: readonly string[], run: Run, stop: Interruption): Promise<number> {
  useCrc32(nativeCrc32())
  const interfaces = interfacesOf(run.options.interface)
  const { durationMs } = run
  const trace = readingOf(run.options, stop)
  const udpPorts = [4791, ...[...(trace.decodeAs ?? [])].filter(([, use]) => use === 'roce').map(([port]) => port)]
  const live = openLive({
    ...{ wanted: 'roce', udpPorts, headersOnly: false, snapLength: 262_144, ringBytes: 2 ** 26, promiscuous: true },
    ...{ interfaces, packets: Number.POSITIVE_INFINITY, durationMs },
  })
  note(`Watching ${interfaces.join(', ')}; Ctrl-C ends it.`)
  await watchLive(live, observers(run, trace), { signal: stop.signal, durationMs })
  return exitCodes.done
}

/** Milliseconds within which a tapped process writes what its devices have passed. */
const tapSettleMs = 200

/** Resolves with the exit code of the command; with that of a failure if a signal ended it, or its packets could not be read. */
export async function watchCommand(words: readonly string[], run: Run, stop: Interruption): Promise<number> {
  if (words.length === 0)
    throw new UsageError('--tap', 'which command? For example: verbena monitor watch --tap -- node program.js')
  useCrc32(nativeCrc32())
  const { durationMs } = run
  const over = new AbortController()
  const timer = Number.isFinite(durationMs) ? setTimeout(() => over.abort(), durationMs) : undefined
  // After an interruption the reading ends with the command.
  const trace = { ...readingOf(run.options, stop), signal: over.signal }
  const view = new OneView()
  try {
    const { result, code, wasEnded } = await tapCommand(words, stop, (packets) =>
      watchCapture(packets, observers(run, trace), {
        ...{ signal: over.signal, trace, settleMs: tapSettleMs },
        takes: (packet) => view.takes(packet),
        onProgress: () => run.output.flush(),
      }),
    )
    if (result.format === undefined) note('No roce device of the command passed a packet.')
    if (view.leftOut > 0)
      note(`${view.leftOut} packets were left out as copies: another device of the command had them.`)
    noteDamage({ damage: result.damage.list, damageCount: result.damage.count })
    if (wasEnded) note('The command was ended: the time is over.')
    else if (code !== 0) note(`The command ended with ${code ?? 'a signal'}.`)
    const failed = result.damage.count > 0 ? exitCodes.failed : exitCodes.done
    return wasEnded ? failed : (code ?? exitCodes.failed) || failed
  } finally {
    clearTimeout(timer)
  }
}

function observers(run: Run, trace: TraceOptions): () => Observer {
  const agent = nameOf(run.options)
  return run.following(
    () =>
      new Observer({
        ...{ config: run.config, trace, agent, run: crypto.randomUUID() },
        onWindow: (window) => run.window(window),
      }),
  )
}
