/**
 * Settings of the node, with VILLASnode's names, defaults and rules; consequences that an operator should know are in `warnings`.
 *
 *     infiniband0 = {
 *       type = "infiniband", rdma_transport_mode = "RC", device = "roce"
 *       in = { address = "10.0.0.2:1337", max_wrs = 128, cq_size = 128, buffer_subtraction = 16, vectorize = 1 }
 *       out = { address = "10.0.0.1:1337", resolution_timeout = 1000, max_wrs = 128, cq_size = 128, send_inline = true,
 *               max_inline_data = 0, use_fallback = true, periodic_signaling = 64, vectorize = 1 }
 *     }
 */
import { QpType } from '../../../index.ts'
import type { NodeCommon, SettingsReader } from '../../index.ts'

export interface IpPort {
  readonly address: string
  readonly port: number
}

export type TransportMode = 'RC' | 'UC' | 'UD'

export interface InfinibandSettings {
  readonly mode: TransportMode
  readonly qpType: typeof QpType.RC | typeof QpType.UC | typeof QpType.UD
  /** Name of the verbs device, as `openDevice` and event channels take it. */
  readonly device: string
  readonly in: {
    readonly address: IpPort
    readonly vectorize: number
    readonly maxWrs: number
    readonly cqSize: number
    readonly bufferSubtraction: number
  }
  readonly out: {
    /** Address of the peer; null: the node listens. */
    readonly address: IpPort | null
    readonly vectorize: number
    readonly resolutionTimeoutMs: number
    readonly maxWrs: number
    readonly cqSize: number
    readonly sendInline: boolean
    readonly maxInlineData: number
    readonly useFallback: boolean
    readonly periodicSignaling: number
  }
  readonly warnings: readonly string[]
}

const modes = ['RC', 'UC', 'UD'] as const
const manyWrs = 8192
/** Limits of Verbena's devices. */
const most = { wrs: 16384, cqe: 65535, inline: 512 }

export function readSettings(settings: SettingsReader, { vectorize }: NodeCommon): InfinibandSettings {
  const warnings: string[] = []
  const mode = modeOf(settings)
  const inside = settings.group('in')
  const outside = settings.group('out')
  const address = addressOf(inside, 'address')
  const device = settings.string('device', deviceOf(address), 'shm:lab')
  const maxRecv = wrsOf(inside, 'in', warnings)
  const bufferSubtraction = inside.integer('buffer_subtraction', 16, 1, most.wrs)
  if (bufferSubtraction < 2 * vectorize.in)
    inside.fail(
      `in.buffer_subtraction (${bufferSubtraction}) must be at least twice in.vectorize (${vectorize.in}): else the receive queue has no room for what a read passes`,
      'buffer_subtraction',
    )
  if (bufferSubtraction >= maxRecv - vectorize.in)
    inside.fail(
      `in.buffer_subtraction (${bufferSubtraction}) must be less than in.max_wrs (${maxRecv}) minus in.vectorize (${vectorize.in})`,
      'buffer_subtraction',
    )
  const recvCq = inside.integer('cq_size', 128, 1, most.cqe)
  if (recvCq < maxRecv - bufferSubtraction)
    inside.fail(
      `in.cq_size (${recvCq}) must be at least in.max_wrs (${maxRecv}) minus in.buffer_subtraction (${bufferSubtraction})`,
      'cq_size',
    )
  const maxSend = wrsOf(outside, 'out', warnings)
  if (vectorize.out > maxSend)
    outside.fail(`out.max_wrs (${maxSend}) must be at least out.vectorize (${vectorize.out})`, 'max_wrs')
  const periodicSignaling = outside.integer('periodic_signaling', Math.max(1, maxSend / 2), 1, most.wrs)
  if (periodicSignaling > maxSend)
    outside.fail(
      `out.periodic_signaling (${periodicSignaling}) must be at most out.max_wrs (${maxSend}): else the send queue fills up for ever`,
      'periodic_signaling',
    )
  const maxInlineData = outside.integer('max_inline_data', 0, 0, most.inline)
  if (maxInlineData !== 0)
    warnings.push(
      `out.max_inline_data is ${maxInlineData}: adapters may reduce the number of work requests for it, or refuse to make the queue pair`,
    )
  const read: InfinibandSettings = {
    mode,
    qpType: QpType[mode],
    device,
    in: { address, vectorize: vectorize.in, maxWrs: maxRecv, cqSize: recvCq, bufferSubtraction },
    out: {
      address: outside.any('address') === undefined ? null : addressOf(outside, 'address'),
      vectorize: vectorize.out,
      resolutionTimeoutMs: timeoutOf(outside),
      maxWrs: maxSend,
      cqSize: outside.integer('cq_size', 128, 1, most.cqe),
      sendInline: outside.boolean('send_inline', true),
      maxInlineData,
      useFallback: outside.boolean('use_fallback', true),
      periodicSignaling,
    },
    warnings,
  }
  for (const group of [inside, outside, settings]) group.done()
  return read
}

/** Bytes of the fields of a sample in a message. */
const headerBytes = 24
const largestMtu = 4096

/** Checks that a datagram fits into one packet. `values`: of the samples that are written. */
export function checkLength(settings: SettingsReader, { mode }: InfinibandSettings, values: number): void {
  const most = Math.floor((largestMtu - headerBytes) / 8)
  if (mode === 'UD' && values > most)
    settings.fail(
      `${settings.of}: with UD a sample goes into one packet, which has room for ${most} values at the largest MTU, and there are ${values}: use RC or UC`,
      settings.has('rdma_transport_mode') ? 'rdma_transport_mode' : 'rdma_port_space',
    )
}

/** Returns the mode. VILLASnode's code reads the first of the two names, its documentation has the second. */
function modeOf(settings: SettingsReader): TransportMode {
  const mode = settings.choice('rdma_transport_mode', 'RC', modes)
  const other = settings.choice('rdma_port_space', mode, modes)
  if (settings.has('rdma_transport_mode') && other !== mode)
    settings.fail(`rdma_transport_mode is ${mode}, and rdma_port_space, which means the same, is ${other}`)
  return other
}

function timeoutOf(out: SettingsReader): number {
  const timeout = out.integer('timeout', 1000, 1, 600_000)
  return out.integer('resolution_timeout', timeout, 1, 600_000)
}

function wrsOf(group: SettingsReader, name: string, warnings: string[]): number {
  const asked = group.integer('max_wrs', 128, 1, most.wrs)
  const wrs = 2 ** Math.ceil(Math.log2(asked))
  if (wrs !== asked) warnings.push(`${name}.max_wrs is ${asked}, no power of 2: it becomes ${wrs}`)
  if (wrs > manyWrs) warnings.push(`${name}.max_wrs is ${wrs}; more than ${manyWrs} may be more than an adapter has`)
  return wrs
}

/** Reads "10.0.0.2:1337", "[fd00::2]:1337". */
function addressOf(group: SettingsReader, key: string): IpPort {
  const text = group.string(key, null, '10.0.0.2:1337')
  const [, v6, v4, port] = /^(?:\[([0-9a-f:.%\w]+)\]|([\d.]+)):(\d{1,5})$/i.exec(text) ?? []
  const address = v6 ?? v4
  if (address === undefined || Number(port) > 65535) group.refuse(key, 'an IP address and a port', '"10.0.0.2:1337"')
  return { address: address as string, port: Number(port) }
}

/** Returns the default device. As in the RDMA CM, loopback addresses are devices of their own, unless VERBENA_DEVICE names another one. */
function deviceOf({ address }: IpPort): string {
  const device = process.env.VERBENA_DEVICE || 'roce'
  return device === 'roce' && /^(127\.|::1$)/.test(address) ? `roce:${address}` : device
}
