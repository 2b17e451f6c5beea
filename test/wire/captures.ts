/** The packets of the captures beside this suite: classic pcap, little endian, Ethernet. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { u16 } from '../../src/wire/index.ts'

const directory = join(import.meta.dirname, '..', 'captures')

export interface Captured {
  file: string
  /** From 1, as in tshark. */
  number: number
  /** From the Ethernet header. */
  frame: Uint8Array
}

export const captureNames: string[] = readdirSync(directory).filter((name) => name.endsWith('.pcap'))

export function packetsOf(file: string): Captured[] {
  const bytes = new Uint8Array(readFileSync(join(directory, file)))
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (view.getUint32(0, true) !== 0xa1b2c3d4) throw new Error(`${file}: not the pcap that this reader knows`)
  const packets: Captured[] = []
  for (let at = 24; at < bytes.length; ) {
    const length = view.getUint32(at + 8, true)
    packets.push({ file, number: packets.length + 1, frame: bytes.slice(at + 16, at + 16 + length) })
    at += 16 + length
  }
  return packets
}

/** Where things are in these captures: no tags, no options, so that nothing of what is tested is needed to find them. */
export function placesOf(frame: Uint8Array): { ip: number; udp: number; bth: number; icrc: number } {
  const ip = 14
  return { ip, udp: ip + 20, bth: ip + 28, icrc: ip + u16(frame, ip + 2) - 4 }
}
