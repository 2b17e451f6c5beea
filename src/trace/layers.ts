/** One packet as a list of headers with their fields as text: printed by `show --verbose`. */
import type { CapturedPacket } from '../capture/index.ts'
import { EtherType } from '../wire/index.ts'

/** Field as text. A group of fields has the text ''; its fields follow with `depth` 1. */
export interface LayerField {
  name: string
  text: string
  depth?: number
}

export interface Layer {
  /** Name and the most important values. */
  title: string
  /** Beginning of the layer in the captured bytes of the packet: [start, end). */
  start: number
  end: number
  fields: readonly LayerField[]
}

/** Name and text of each field. */
export type FieldList = readonly (readonly [name: string, text: string | number])[]

/** Collector of the layers of one packet. */
export class LayerList {
  readonly layers: Layer[] = []
  readonly b: Uint8Array
  /** Beginning of the packet in `b`, and the end of its captured bytes. */
  readonly origin: number
  readonly end: number

  constructor({ bytes, offset, length }: CapturedPacket) {
    this.b = bytes
    this.origin = offset
    this.end = offset + length
  }

  /** @param start offset in `b`, like `end` */
  add(title: string, start: number, end: number, fields: FieldList | readonly LayerField[]): void {
    const list = fields.map((field) => ('name' in field ? field : { name: field[0], text: String(field[1]) }))
    this.layers.push({ title, start: start - this.origin, end: end - this.origin, fields: list })
  }
}

export function hexNumber(value: number | bigint, digits = 0): string {
  return `0x${value.toString(16).padStart(digits, '0')}`
}

/** Returns the name and the number, or the number alone. */
export function named(name: string | undefined, value: number | bigint, digits = 0): string {
  return name === undefined ? hexNumber(value, digits) : `${name} (${hexNumber(value, digits)})`
}

const etherTypeNames = new Map<number, string>([
  [EtherType.ipv4, 'IPv4'],
  [EtherType.ipv6, 'IPv6'],
  [EtherType.rocev1, 'RoCEv1'],
  [EtherType.vlan, '802.1Q VLAN'],
  [EtherType.serviceVlan, '802.1ad VLAN'],
  [EtherType.oldServiceVlan, 'stacked VLAN'],
  [0x0806, 'ARP'],
  [0x6558, 'Ethernet'],
  [0x8847, 'MPLS'],
  [0x8848, 'MPLS multicast'],
  [0x8864, 'PPPoE session'],
  [0x8909, 'Cisco metadata'],
  [0x8926, 'VN-Tag'],
  [0x88be, 'ERSPAN I or II'],
  [0x22eb, 'ERSPAN III'],
])

export function etherTypeText(type: number): string {
  return named(etherTypeNames.get(type), type, 4)
}
