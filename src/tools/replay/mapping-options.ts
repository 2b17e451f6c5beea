/** The options of mappings: one for each kind, which may be repeated, and files of them. */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { type Mapping, type MappingKind, parseMapping, parseMappings } from '../../replay/index.ts'
import { UsageError } from '../kit/index.ts'

const texts: readonly (readonly [kind: MappingKind, value: string, text: string])[] = [
  ['mac', 'old=new', 'Ethernet address of the frame'],
  ['ip', 'old=new', 'IPv4 or IPv6 address or network, also in GIDs and messages of the CM'],
  ['lid', 'old=new', 'LID of native InfiniBand'],
  ['source-port', '[old=]new', 'UDP source port'],
  ['destination-port', '[old=]new', 'UDP destination port'],
  ['dscp', '[old=]new', 'DSCP of the IP header or GRH'],
  ['ecn', '[old=]new', 'ECN bits of it, 0 to 3'],
  ['pkey', '[old=]new', 'P_Key'],
  ['qpn', 'old[@host]=new', 'queue pair, of that host only'],
  ['psn', '[qp[@host]=]+n', 'PSNs of requests to that queue pair and of their responses, or all; +n or -n'],
  ['msn', '[qp[@host]=]+n', 'MSNs of responses to that queue pair, or all'],
  ['rkey', 'old[@host]=new', 'key of remote memory'],
  ['va', 'first[-last]=new', 'virtual addresses from first to last'],
]

/** Options in the order in which they were given, by the name of commander. */
type Given = Record<string, unknown>

export function addMappingOptions(command: Command): void {
  for (const [kind, value, text] of texts)
    command.option(`--${kind} <${value}>`, text, (one: string, before: Mapping[] | undefined) => [
      ...(before ?? []),
      parseMapping(kind, one),
    ])
  command.option(
    '--map <file>',
    'mappings in a file, one a line: qpn 0x11=0x200',
    (file: string, before?: Mapping[]) => [...(before ?? []), ...mappingsOf(file)],
  )
}

export function mappingsGiven(command: Command): Mapping[] {
  const options: Given = command.opts()
  const names = [...texts.map(([kind]) => kind.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())), 'map']
  return names.flatMap((name) => (options[name] as Mapping[] | undefined) ?? [])
}

function mappingsOf(file: string): Mapping[] {
  try {
    return parseMappings(readFileSync(file, 'utf8'), file)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'EISDIR' || code === 'EACCES') throw new UsageError('--map', message)
    throw error
  }
}
