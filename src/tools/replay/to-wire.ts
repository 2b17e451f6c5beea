/** Sends packets of a capture to a network. Separate from `packets.ts`, so that a command that only writes a file loads no system calls. */
import {
  type Pacer,
  type PacketOut,
  type PacketReplayOptions,
  parseIp,
  replayPackets,
  trafficClassOf,
  UdpPayload,
} from '../../replay/index.ts'
import type { CaptureSource } from '../../trace/index.ts'
import { hostAddress, wrongValue } from '../kit/index.ts'
import { LiveReplay } from './live.ts'
import { interfaceOutlet, type UdpOutlet, udpOutlet } from './outlets.ts'
import type { PaceOptions } from './pace.ts'
import { type Report, reportOf } from './report.ts'

export interface WireOptions extends PaceOptions {
  interface?: string
  udp?: string
}

/** Sends the packets at their times, through an interface or as datagrams to a host: whichever the options name. */
export async function toWire(
  source: CaptureSource,
  reading: PacketReplayOptions,
  options: WireOptions,
  pacer: Pacer,
  signal: AbortSignal,
): Promise<Report> {
  const udp = options.udp === undefined ? undefined : await openUdp(options.udp)
  const outlet = udp?.outlet ?? interfaceOutlet(options.interface!)
  const live = new LiveReplay(outlet, pacer, options.speed === 'top', signal)
  let unsendable = 0
  const out: PacketOut = (packet, d) => {
    if (udp !== undefined) {
      const length = udp.payload.prepare(packet, d)
      if (length === 0) unsendable++
      else live.take(packet, d.bth, length, trafficClassOf(packet, d))
    } else if (packet.length < packet.originalLength || !isEthernet(packet.linkType)) unsendable++
    else live.take(packet, packet.offset, packet.length, 0)
  }
  try {
    const result = await replayPackets(source, { ...reading, onProgress: () => live.drain() }, out)
    await live.drain()
    const { sent, bytes, rejected, pacing, startNs, endNs } = live
    const seconds = (endNs - startNs) / 1e9
    const kind = udp === undefined ? 'interface' : 'udp'
    const target = udp === undefined ? options.interface! : udp.text
    return reportOf(kind, target, result, { sent, bytes, rejected, unsendable, seconds, pacing })
  } finally {
    outlet.close()
  }
}

/** True for LINKTYPE_ETHERNET, whose frames an Ethernet interface can send. */
function isEthernet(linkType: number): boolean {
  return linkType === 1
}

const defaultPort = 4791

async function openUdp(target: string): Promise<{ outlet: UdpOutlet; payload: UdpPayload; text: string }> {
  const [, bracketed, name, portText] = /^(?:\[([^\]]+)\]|([^:]+|.*:.*:.*?))(?::(\d+))?$/.exec(target) ?? []
  const port = portText === undefined ? defaultPort : Number(portText)
  if ((bracketed ?? name) === undefined || port < 1 || port > 65_535)
    throw wrongValue('--udp', target, 'an address, or address:port', '10.0.0.9, --udp [fe80::1]:4791')
  const text = await hostAddress((bracketed ?? name)!)
  const address = parseIp(text.replace(/%.*/, ''))!
  const outlet = await udpOutlet(address, text, port)
  return {
    outlet,
    payload: new UdpPayload(outlet.source, address, outlet.sourcePort, port),
    text: `${text} port ${port}`,
  }
}
