/** The settings of a socket. */
import { longestUnixPath } from '../../../memory/index.ts'
import type { Format, SettingsReader } from '../../index.ts'
import { type Address, addressSetting, formatSetting, inMessages } from '../kit/settings.ts'

export interface Multicast {
  readonly group: string
  /** Address of the interface; empty: the system chooses. */
  readonly interface: string
  readonly loop: boolean
  readonly ttl: number
}

/** End of a socket: an address, or the path of a UNIX socket. */
export type Place = Address | string

export interface SocketSettings {
  readonly layer: 'udp' | 'tcp-client' | 'tcp-server' | 'unix'
  readonly format: Format
  readonly verifySource: boolean
  readonly local: Place | undefined
  readonly remote: Place | undefined
  readonly multicast: Multicast | undefined
}

export function socketSettings(settings: SettingsReader): SocketSettings {
  const named = settings.choice('layer', 'udp', ['udp', 'tcp-client', 'tcp-server', 'unix', 'local', 'ip', 'eth'])
  if (named === 'ip' || named === 'eth')
    settings.fail(
      `layer: '${named}' needs raw sockets, which only privileged accounts may open, and is not there: choose udp, tcp-client, tcp-server or unix`,
      'layer',
    )
  const layer = named === 'local' ? 'unix' : named
  const stream = layer.startsWith('tcp')
  const format = formatSetting(settings, 'villas.binary', stream ? { messages: true } : inMessages)
  const input = settings.group('in')
  const output = settings.group('out')
  // VILLASnode's documentation has it beside `layer`, its examples in `in`.
  const verifySource = settings.boolean('verify_source', false) || input.boolean('verify_source', false)
  const local = input.has('address') ? place(input, layer, true) : undefined
  const remote = output.has('address') ? place(output, layer, false) : undefined
  const multicast = multicastOf(input) ?? multicastOf(output)
  input.done()
  output.done()
  settings.done()
  if (layer === 'tcp-server' && local === undefined) input.refuse('address', 'where the server listens', '"*:12000"')
  if (layer === 'tcp-client' && remote === undefined)
    output.refuse('address', 'where the server is', '"127.0.0.1:12000"')
  if (local === undefined && remote === undefined)
    settings.fail(
      'in.address and out.address are missing: a socket needs one of them, for example in = { address = "*:12000" }',
    )
  if (multicast !== undefined && layer !== 'udp') settings.fail('multicast is for the layer udp only', 'in')
  if (verifySource && remote === undefined)
    settings.fail('verify_source compares with out.address, which is missing', 'verify_source')
  if (verifySource && stream)
    settings.fail(`verify_source: '${layer}' has connections instead; it is for udp and unix`, 'verify_source')
  return { layer, format, verifySource, local, remote, multicast }
}

/** Reads an address. `isOwn`: ":12000" is that port of all addresses, as in VILLASnode. */
function place(group: SettingsReader, layer: string, isOwn: boolean): Place {
  const text = group.string('address', null, '127.0.0.1:12000')
  const isPath = text.startsWith('/')
  if (!isPath && layer === 'unix') group.refuse('address', 'the path of a UNIX socket', '"/run/node.sock"')
  if (!isPath) return addressSetting(group, 'address', 1, isOwn)
  if (layer === 'udp') group.refuse('address', 'a host and a port; paths are for the layer unix', '"127.0.0.1:12000"')
  if (Buffer.byteLength(text) > longestUnixPath)
    group.fail(`address: a path of a UNIX socket has at most ${longestUnixPath} bytes`, 'address')
  return text
}

function multicastOf(direction: SettingsReader): Multicast | undefined {
  if (!direction.has('multicast')) return undefined
  const group = direction.group('multicast')
  const multicast = {
    group: group.string('group', null, '224.1.2.3'),
    interface: group.string('interface', '', '192.168.0.2'),
    loop: group.boolean('loop', false),
    ttl: group.integer('ttl', 255, 0, 255),
  }
  const enabled = group.boolean('enabled', true)
  group.done()
  if (!/^2(2[4-9]|3\d)(\.\d{1,3}){3}$/.test(multicast.group))
    group.refuse('group', 'an address in 224.0.0.0/4', '"224.1.2.3"')
  return enabled ? multicast : undefined
}
