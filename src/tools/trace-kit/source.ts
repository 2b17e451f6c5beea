/** Code that the commands which read captures share: finding the file, reporting damage, Ctrl-C. */
import { statSync } from 'node:fs'
import type { Command } from 'commander'
import { exitCodes, type Interruption, interruptible, note } from '../../cli/terminal/index.ts'
import { fileSource, filesSource, sessionTraces } from '../../files/index.ts'
import {
  type CaptureSource,
  type Damage,
  type DecodeAs,
  describeDamage,
  portUses,
  type TraceOptions,
} from '../../trace/index.ts'
import { integer, UsageError, wrongValue } from '../kit/index.ts'
import { chooseCrc32 } from './crc32.ts'

const expected = 'Expected a capture, or - for standard input'

/** Returns the capture in that file, and chooses the fastest CRC of this machine for its length. */
export function captureFile(file: string): CaptureSource {
  if (file === '-') {
    chooseCrc32(Number.POSITIVE_INFINITY)
    return fileSource(file)
  }
  const info = statSync(file, { throwIfNoEntry: false })
  if (info === undefined) throw new UsageError(file, `there is no such file. ${expected}`)
  if (info.isDirectory()) return sessionFile(file)
  // Pipes and devices have no length.
  chooseCrc32(info.isFile() ? info.size : Number.POSITIVE_INFINITY)
  return fileSource(file)
}

/** Returns the trace of a session that `verbena collect` has made: its files one after the other. */
function sessionFile(folder: string): CaptureSource {
  const files = sessionTraces(folder)
  if (files === undefined) throw new UsageError(folder, `is a directory, and no session. ${expected}`)
  if (files.length === 0) throw new UsageError(folder, 'the session has no trace')
  chooseCrc32(files.reduce((sum, path) => sum + statSync(path).size, 0))
  return filesSource(files)
}

/** Throws an error if the file was not a capture at all. */
export function mustBeCapture(
  file: string,
  read: { format?: string | null | undefined; damage: readonly Damage[] },
): void {
  if (read.format) return
  const why = read.damage[0]?.what ?? 'nothing was read'
  throw new UsageError(
    file === '-' ? 'standard input' : file,
    `${why}. Expected a pcap or pcapng file, compressed with gzip or zstd or not`,
  )
}

/** Prints on stderr how the file is damaged. */
export function noteDamage(read: { damage: readonly Damage[]; damageCount: number }, most = 10): void {
  if (read.damageCount === 0) return
  note(`The file is damaged in ${read.damageCount === 1 ? 'one place' : `${read.damageCount} places`}:`)
  for (const damage of read.damage.slice(0, most)) note(`  ${describeDamage(damage)}`)
  if (read.damageCount > most) note(`  … and ${read.damageCount - most} more`)
}

/** Prints on stderr that there was no RDMA, and possible remedies. `unread`: link types that are not read, in words. */
export function noteIfNothing({
  packets,
  roce,
  unread = [],
}: {
  packets: number
  roce: number
  unread?: readonly string[]
}): void {
  if (roce > 0) return
  if (packets > 0 && unread.length > 0) {
    note(`No RDMA packet was found in the capture. It has packets of ${unread.join(', of ')}.`)
    return
  }
  const none = packets === 0 ? 'There is no packet in the capture.' : 'No RDMA packet was found in the capture.'
  note(`${none} RoCEv2 on another UDP port than 4791: --roce-port PORT`)
}

/** Ends the reading at the first Ctrl-C, so that what was read is summed up; the second ends the process. */
export function stopOnInterrupt(isService = false): Interruption {
  return interruptible('', { isService })
}

/** Returns the exit code of a command that has read a capture. */
export function exitCodeOf(interruption: Interruption, bad: boolean): number {
  return interruption.exitCode() ?? (bad ? exitCodes.failed : exitCodes.done)
}

/** Returns a parser for the value of an option that is a count. */
export function countOf(flag: string): (text: string) => number {
  return (text) => {
    const value = integer(0, Number.MAX_SAFE_INTEGER)(text)
    if (value === undefined) throw wrongValue(flag, text, 'a whole number', 20)
    return value
  }
}

/** Adds the argument and options of all trace commands that read packets: the file, here called `name`, and --decode-as. */
export function readsCapture(command: Command, name = '<file>'): Command {
  return readsPackets(command.argument(name, 'pcap or pcapng, compressed or not; - for standard input'))
}

/** Adds the options that declare the protocols of UDP ports. */
export function readsPackets(command: Command): Command {
  const uses = Object.keys(portUses).join(', ')
  return command
    .option('-d, --decode-as <port=what>', `what another UDP port carries: ${uses}; may be repeated`, decodeAs)
    .option('--roce-port <port>', 'another UDP port of RoCEv2, as --decode-as PORT=roce', rocePort)
}

const udpPort = integer(1, 65_535)

/** Options that `readsPackets` adds. */
export interface ReadOptions {
  decodeAs?: DecodeAs
  rocePort?: DecodeAs
}

function decodeAs(text: string, before: DecodeAs | undefined): DecodeAs {
  const [port = '', what = ''] = text.split('=')
  const number = udpPort(port)
  if (number === undefined || !Object.hasOwn(portUses, what))
    throw wrongValue('--decode-as', text, 'a port and what it carries', '8472=vxlan')
  return new Map([...(before ?? []), [number, what as keyof typeof portUses]])
}

function rocePort(text: string, before: DecodeAs | undefined): DecodeAs {
  const number = udpPort(text)
  if (number === undefined) throw wrongValue('--roce-port', text, 'a port from 1 to 65535', 4792)
  return new Map([...(before ?? []), [number, 'roce']])
}

/** Returns the settings for reading, from these options and Ctrl-C. */
export function readingOf({ decodeAs: ports, rocePort: roce }: ReadOptions, { signal }: Interruption): TraceOptions {
  return { signal, decodeAs: new Map([...(ports ?? []), ...(roce ?? [])]) }
}
