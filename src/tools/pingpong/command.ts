/** `verbena rc_pingpong`, `uc_pingpong`, `ud_pingpong`, `srq_pingpong`: ibv_*_pingpong with Verbena's adapters. */
import { type Command, Option } from 'commander'
import { endWith, exitCodes, note, print, printJson } from '../../cli/terminal/index.ts'
import { PathMtus } from '../../index.ts'
import {
  addDeviceOption,
  addGidOption,
  addRunOptions,
  addSynonym,
  defaultPort,
  EndError,
  meetingPlace,
  parseGidIndex,
  parseInteger,
  type RunOptions,
  runSettings,
  UsageError,
  wrongValue,
} from '../kit/index.ts'
import { runPingPong, type Shown } from './run.ts'
import { defaultSize, type Kind, type PingPongSettings } from './settings.ts'

const titles: Record<Kind, string> = {
  rc: 'Ping-pong over a reliable connection',
  uc: 'Ping-pong over an unreliable connection',
  ud: 'Ping-pong of unreliable datagrams',
  srq: 'Ping-pong over many reliable connections with one shared receive queue',
}

function left(kind: Kind): string {
  const flags = (refused[kind] ?? []).map(([text]) => text.slice(0, 2))
  return flags.length === 0 ? '' : `\nNot supported (the error has the reason): ${flags.join(' ')}`
}

const examples = (kind: Kind): string => `
Without a host it is the server and waits for a client. Options, TCP exchange and output are those of
ibv_${kind}_pingpong, which can be the peer in either role. Sizes, MTU and iterations must be the same at both ends.${left(kind)}

Examples:
  verbena ${kind}_pingpong -d shm:lab                          a server in one terminal,
  verbena ${kind}_pingpong -d shm:lab localhost                its client in another, over shared memory
  verbena ${kind}_pingpong -d roce:10.77.0.1 -n 300 10.77.0.2  against a machine with ibv_${kind}_pingpong -g 1 -n 300
  verbena ${kind}_pingpong -e --json localhost                 sleep instead of polling; one JSON document`

interface Options extends RunOptions {
  port?: string
  device?: string
  ibPort?: string
  size?: string
  mtu?: string
  rxDepth?: string
  iters?: string
  sl?: string
  events?: boolean
  gidIndex?: string
  chk?: boolean
  numQp?: string
}

/** Options of the originals that no adapter here supports. */
const refused: Partial<Record<Kind, readonly [flags: string, name: string, why: string][]>> = {
  rc: [
    ['-o, --odp', 'odp', 'registered memory is never paged on demand here: leave it out'],
    ['-O, --iodp', 'iodp', 'registered memory is never paged on demand here: leave it out'],
    ['-P, --prefetch', 'prefetch', 'there is no on-demand paging to prefetch for: leave it out'],
    ['-t, --ts', 'ts', 'completions carry no timestamps here: `verbena bench latency` measures single messages'],
    ['-j, --dm', 'dm', 'the adapters have no memory of their own: leave it out'],
    ['-N, --new_send', 'new_send', 'posting goes one way here, and looks the same to the peer: leave it out'],
    ['-U, --allow-cc-unprotected', 'allowCcUnprotected', 'there is no confidential-computing memory: leave it out'],
  ],
  srq: [['-o, --odp', 'odp', 'registered memory is never paged on demand here: leave it out']],
}

export function pingPongCommand(kind: Kind): { configure(command: Command): void } {
  return { configure: (command) => configure(kind, command) }
}

function configure(kind: Kind, command: Command): void {
  command
    .description(`${titles[kind]}, as ibv_${kind}_pingpong does it.`)
    .argument('[host]', 'the server; without it this is the server')
    .option('-p, --port <port>', `TCP port to listen on or connect to (default: ${defaultPort})`)
    .option('-i, --ib-port <port>', 'port of the adapter (default: 1)')
    .option('-s, --size <bytes>', `size of each message (default: ${defaultSize[kind]})`)
  addDeviceOption(command, { fallback: meetingPlace })
  if (kind !== 'ud') command.option('-m, --mtu <bytes>', 'path MTU (default: 1024)')
  if (kind === 'srq') command.option('-q, --num-qp <number>', 'queue pairs, at most 255 (default: 16)')
  command
    .option('-r, --rx-depth <number>', 'receives that are posted at a time (default: 500)')
    .option('-n, --iters <number>', 'exchanges (default: 1000)')
    .option('-l, --sl <level>', 'service level (default: 0)')
    .option('-e, --events', 'sleep until a completion makes an event (default: poll)')
    .option('-c, --chk', 'check received data; exit code 1 if it is wrong')
  addSynonym(addGidOption(command, '-g'), '--gid-idx <index>', 'gid-index')
  addRunOptions(command)
  for (const [flags] of refused[kind] ?? []) command.addOption(new Option(flags).hideHelp())
  command.addHelpText('after', examples(kind)).action(async (host: string | undefined, options: Options) => {
    const settings = settingsOf(kind, host, options)
    endWith(await play(settings, options.json === true))
  })
}

function settingsOf(kind: Kind, host: string | undefined, options: Options): PingPongSettings {
  for (const [flags, name, why] of refused[kind] ?? []) {
    if ((options as Record<string, unknown>)[name]) throw new UsageError(flags.slice(0, 2), why)
  }
  const integer = parseInteger
  const mtu = integer('-m', options.mtu, 1024, 256, 4096)
  const pathMtu = PathMtus.find((known) => known === mtu)
  if (!pathMtu) throw wrongValue('-m', options.mtu, PathMtus.map(String), 1024)
  const qps = kind === 'srq' ? integer('-q', options.numQp, 16, 1, 255) : 1
  const rxDepth = integer('-r', options.rxDepth, 500, 1, 16384)
  if (rxDepth < qps)
    throw new UsageError('-r', `${rxDepth} receives are too few for ${qps} queue pairs: one for each at least`)
  if (rxDepth < 2) throw new UsageError('-r', 'the next receive must be there before the answer goes: 2 at least')
  return {
    kind,
    ...(host === undefined ? {} : { host }),
    port: integer('-p', options.port, defaultPort, 1, 65535),
    ...(options.device ? { device: options.device } : {}),
    ibPort: integer('-i', options.ibPort, 1, 1, 255),
    size: integer('-s', options.size, defaultSize[kind], 1, 0x40000000),
    mtu: pathMtu,
    rxDepth,
    iters: integer('-n', options.iters, 1000, 1, 0x7fffffff),
    sl: integer('-l', options.sl, 0, 0, 15),
    events: options.events === true,
    gidIndex: parseGidIndex('-g', options.gidIndex),
    check: options.chk === true,
    qps,
    ...runSettings(options),
  }
}

/** Returns the exit code. */
async function play(settings: PingPongSettings, json: boolean): Promise<number> {
  const line = (where: 'local address: ' | 'remote address:') => (addresses: readonly Shown[]) => {
    if (!json)
      for (const address of addresses)
        print(`  ${where} ${addressText(address, settings.kind === 'ud' && where.startsWith('local'))}`)
  }
  const result = await runPingPong(settings, {
    onLocal: line('local address: '),
    onRemote: line('remote address:'),
  })
  const { failure } = result
  if (json) printJson(result)
  if (failure) throw new EndError(failure.code, failure.message)
  if (!json) {
    const { bytes, seconds, mbitPerSec, iters, usecPerIter, invalidPages = [] } = result
    print(`${bytes} bytes in ${seconds.toFixed(2)} seconds = ${mbitPerSec.toFixed(2)} Mbit/sec`)
    print(`${iters} iters in ${seconds.toFixed(2)} seconds = ${usecPerIter.toFixed(2)} usec/iter`)
    for (const page of invalidPages) print(`invalid data in page ${page}`)
  }
  if (result.lastUnacknowledged) note('the peer had ended before it acknowledged the last message')
  return (result.invalidPages?.length ?? 0) > 0 ? exitCodes.failed : exitCodes.done
}

/** Returns the address. ibv_ud_pingpong has a colon before its own GID, and a comma before the peer's. */
function addressText({ lid, qpn, psn, gid }: Shown, colon: boolean): string {
  const hex = (value: number, digits: number) => `0x${value.toString(16).padStart(digits, '0')}`
  return `LID ${hex(lid, 4)}, QPN ${hex(qpn, 6)}, PSN ${hex(psn, 6)}${colon ? ':' : ','} GID ${gid}`
}
