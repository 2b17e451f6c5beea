/** Options, Ctrl-C handling and exit of the commands on the RDMA CM. */
import type { Command } from 'commander'
import { currentRun, exitCodes, interruptible, print, printFailure, printJson } from '../../cli/terminal/index.ts'
import { PortSpace } from '../../index.ts'
import { oneOf, parseInteger, wrongValue } from '../kit/index.ts'
import type { CommonResult, Output } from './settings.ts'

/** Options of `ucmatose`, `udaddy` and `mckey`. */
export interface CountOptions {
  c?: string
  C?: string
  S?: string
}

export function addCountOptions(command: Command): Command {
  return command
    .option('-c <number>', 'connections (default: 1)')
    .option('-C <number>', 'messages on each connection (default: 10)')
    .option('-S <bytes>', 'size of each message (default: 100)')
}

export function countSettings({ c, C, S }: CountOptions): {
  connections: number
  messageCount: number
  messageSize: number
} {
  return {
    connections: parseInteger('-c', c, 1, 1, 16_000),
    messageCount: parseInteger('-C', C, 10, 0, 1_000_000),
    messageSize: parseInteger('-S', S, 100, 0, 0x40000000),
  }
}

export interface MessageOptions extends CountOptions {
  s?: string
  b?: string
}

export function addMessageOptions(command: Command): Command {
  return addCountOptions(
    command
      .option('-s <server>', 'be the client of the server with this address or name')
      .option('-b <address>', 'own address or name to bind to'),
  )
}

export function messageSettings(options: MessageOptions): ReturnType<typeof countSettings> & {
  server: string | undefined
  bind: string | undefined
} {
  return { ...countSettings(options), server: options.s, bind: options.b }
}

/** Checks the value of `-f`, which has no other effect: the family of an address follows from its text. */
export function checkFormat(format: string | undefined): void {
  if (format !== undefined && oneOf('name', 'ip', 'ipv6', 'gid')(format) === undefined)
    throw wrongValue('-f', format, ['name', 'ip', 'ipv6', 'gid'])
}

const datagramSpaces = { udp: PortSpace.Udp, ipoib: PortSpace.IpOIb } as const

/** Returns the port space of `-P` of `udaddy`. */
export function datagramSpace(name: 'udp' | 'ipoib'): PortSpace {
  return datagramSpaces[name]
}

/** Returns the port space of `-p` of `udaddy` and `mckey`, given as a number. */
export function portSpaceOf(text: string | undefined): PortSpace {
  const value = text === undefined ? PortSpace.Udp : Number(text)
  if (value === PortSpace.Udp || value === PortSpace.IpOIb) return value
  throw wrongValue('-p', text, '0x111 for UDP or 0x2 for IPoIB: it is no port number')
}

const quiet: Output = { line: () => {}, error: () => {} }
const terminal: Output = {
  line: print,
  error: (text) => currentRun().io.stderr.write(`${text}\n`),
}

/** Runs a program to its end; returns the exit code. With `--json` only the result is printed. */
export async function runTool<R extends CommonResult>(
  json: boolean,
  run: (options: { output: Output; signal: AbortSignal }) => Promise<R>,
  last?: (result: R, output: Output) => void,
): Promise<number> {
  const interruption = interruptible('Stopping. Once more ends at once.')
  try {
    const result = await run({ output: json ? quiet : terminal, signal: interruption.signal })
    if (json) printJson(result)
    else last?.(result, terminal)
    const interrupted = interruption.exitCode()
    if (interrupted !== undefined) return interrupted
    if (result.failure === undefined) return exitCodes.done
    printFailure(result.failure.message)
    return exitCodes.failed
  } finally {
    interruption.dispose()
  }
}
