/** `verbena replay client` */
import type { Command } from 'commander'
import { endWith, exitCodes, note, printJson } from '../../cli/terminal/index.ts'
import { readMessages } from '../../replay/index.ts'
import {
  apart,
  choiceOption,
  connectTo,
  type LocalPort,
  localPort,
  openNamed,
  parseInteger,
  UsageError,
  type Wire,
} from '../kit/index.ts'
import {
  captureFile,
  mustBeCapture,
  noteDamage,
  type ReadOptions,
  readingOf,
  readsCapture,
  stopOnInterrupt,
} from '../trace-kit/index.ts'
import { type Comparison, compare } from './compare.ts'
import { printComparison } from './comparison-text.ts'
import { type EndReport, ReplayEnd } from './end.ts'
import { receive, receiveEndpoints, receiveReport, say, sendEndpoints, sendPlan } from './meeting.ts'
import { damageOf, noteGaps } from './messages.ts'
import { paceOf } from './pace.ts'
import { type Mode, type Omitted, type Plan, partOf, planOf } from './plan.ts'
import { addEndOptions, type EndOptions, endSettings, telling } from './server.ts'

const help = `
For each connection of the capture there is a queue pair of the same type here and one at a server; the end that sent the first message
of a connection is here. Several servers represent the hosts at the other ends, in their order, then from the first one again.
Messages are performed with their operations and sizes. In a closed loop each waits for the event of the capture, then for the time
that its program took; in an open loop it is sent at its time. --speed divides times; top leaves all pauses out.

Exit code 1 if not all messages were performed with the sizes of the capture.

Examples:
  verbena replay client rping.pcap 10.77.0.2 -d roce:10.77.0.3
  verbena replay client roce.pcap localhost -d shm:lab --mode open --speed 2x --json`

interface Options extends EndOptions, ReadOptions {
  mode?: Mode
  speed?: string
  depth?: string
}

export function configure(command: Command): void {
  readsCapture(command, '<trace>')
    .description('Perform the messages of a capture again, with real queue pairs, and compare.')
    .argument('<servers...>', 'hosts on which verbena replay server runs')
    .addOption(choiceOption('--mode <mode>', 'closed or open loop (default: closed)', ['closed', 'open']))
    .option('--speed <factor>', 'of the captured time: 2x is twice as fast, top without pauses (default: 1x)')
    .option('--depth <number>', 'outstanding requests of a queue pair (default: 128)')
  // Where files are read, -d is a port; here it is the device, as in all other commands.
  const decode = command.options.find(({ long }) => long === '--decode-as')!
  Object.assign(decode, { short: undefined, flags: decode.flags.replace('-d, ', '') })
  addEndOptions(command)
  command.addHelpText('after', help).action(async (file: string, servers: string[], options: Options) => {
    const settings = endSettings(options)
    const stop = stopOnInterrupt()
    const found = await readMessages(captureFile(file), readingOf(options, stop))
    const damage = damageOf(found)
    mustBeCapture(file, damage)
    noteGaps(found)
    noteDamage(damage)
    if (found.messages.length === 0) throw new UsageError(file, 'there is no message in it that could be performed')
    const pace = paceOf({ ...(options.speed !== undefined && { speed: options.speed }) })
    const speed = pace.type === 'captured' ? pace.speed : Number.POSITIVE_INFINITY
    const mode = options.mode ?? 'closed'
    const depth = parseInteger('--depth', options.depth, 128, 1, 8192)
    const context = openNamed(settings.device)
    try {
      const local = localPort(context, 1, settings.gidIndex, '-x')
      const stallMs = settings.stallMs === 0 ? 60_000 : Math.min(settings.stallMs, 2000)
      const { plan, omitted } = planOf(found, { mode, speed, depth, stallMs }, local.activeMtu)
      const hosts = found.connections.map(({ ends }) => ends[1].address)
      const reports = await perform(context, local, plan, hosts, servers, settings, stop.signal)
      const planned = new Set(plan.messages.map(({ id }) => id))
      const messages = found.messages.filter(({ id }) => planned.has(id))
      const comparison = compare(messages, reports, plan.connections.length, speed)
      show(comparison, omitted, found.gaps, mode, options.json === true)
      endWith(stop.exitCode() ?? (comparison.same ? exitCodes.done : exitCodes.failed))
    } finally {
      context.close()
      stop.dispose()
    }
  })
}

function show(comparison: Comparison, omitted: Omitted, gaps: object, mode: Mode, json: boolean): void {
  if (json) printJson({ mode, ...comparison, omitted, gaps })
  else printComparison(comparison)
  if (omitted.flush > 0) note(`${omitted.flush} FLUSH requests are left out: no queue pair here performs them`)
  if (omitted.tooLong > 0) note(`${omitted.tooLong} datagrams are left out: they are longer than the MTU of this port`)
}

/** Returns the connections of each server: those of the hosts that it stands for. */
function shares(hosts: readonly string[], servers: number): number[][] {
  const order = [...new Set(hosts)]
  const chosen: number[][] = Array.from({ length: servers }, () => [])
  for (const [connection, host] of hosts.entries()) chosen[order.indexOf(host) % servers]!.push(connection)
  return chosen
}

async function perform(
  context: ReturnType<typeof openNamed>,
  local: LocalPort,
  plan: Plan,
  hosts: readonly string[],
  servers: readonly string[],
  { port, waitMs }: { port: number; waitMs: number },
  signal: AbortSignal,
): Promise<EndReport[]> {
  const chosen = shares(hosts, servers.length)
  const end = new ReplayEnd(context, plan, 0, local)
  const wires: { wire: Wire; connections: number[] }[] = []
  const onAll = (wires: readonly Wire[], body: () => Promise<EndReport[]>): Promise<EndReport[]> =>
    wires.length === 0 ? body() : telling(wires[0]!, () => onAll(wires.slice(1), body))
  try {
    for (const [i, server] of servers.entries()) {
      const connections = chosen[i]!
      if (connections.length === 0) note(`${server} has nothing to do: the capture has fewer hosts`)
      else {
        const [host, own] = hostAndPort(server, port)
        wires.push({ wire: await connectTo(host, own, { waitMs, signal }), connections })
      }
    }
    return await onAll(
      wires.map(({ wire }) => wire),
      async () => {
        const remotes = plan.connections.map(() => end.endpoints[0]!)
        for (const { wire, connections } of wires) {
          await sendPlan(wire, context.name, partOf(plan, connections))
          await sendEndpoints(
            wire,
            context.name,
            connections.map((connection) => end.endpoints[connection]!),
          )
          const { device, endpoints } = await receiveEndpoints(wire, connections.length)
          const why = apart(context.name, device)
          if (why !== undefined) throw new UsageError('-d', why)
          for (const [i, connection] of connections.entries()) remotes[connection] = endpoints[i]!
        }
        end.connect(remotes)
        end.prepare()
        for (const { wire } of wires) {
          await receive(wire, 30_000, 'ready')
          await say(wire, { type: 'ready' })
        }
        await Promise.all(wires.map(({ wire }) => say(wire, { type: 'start' })))
        const mine = await end.run(signal)
        await Promise.all(wires.map(({ wire }) => say(wire, { type: 'done' })))
        const theirs = await Promise.all(wires.map(({ wire }) => receiveReport(wire)))
        return [mine, ...theirs]
      },
    )
  } finally {
    end.close()
  }
}

/** Parses `host`, or `host:port` where a server has a port of its own. */
function hostAndPort(server: string, port: number): [string, number] {
  const [, host, own] = /^(\[[^\]]+\]|[^:]+):(\d+)$/.exec(server) ?? []
  if (host === undefined) return [server, port]
  return [host.replace(/^\[|\]$/g, ''), Number(own)]
}
