/** Headers of tunnels, field by field. */
import { u16, u32 } from '../wire/index.ts'
import { etherTypeText, type FieldList, hexNumber } from './layers.ts'
import { hexOf } from './row.ts'
import { Tunnel, tunnelNames } from './tunnels.ts'

/** Returns the arguments of `LayerList.add`. A tunnel's header is [at, inside). */
export function tunnelLayer(
  b: Uint8Array,
  tunnel: number,
  at: number,
  inside: number,
  truncated: boolean,
): [string, number, number, FieldList] {
  const name = tunnelNames[tunnel]!
  if (tunnel === Tunnel.Gtpu || tunnel === Tunnel.Tzsp)
    return [name, at, inside, [['Header', hexOf(b.subarray(at, inside))]]]
  if (tunnel === Tunnel.Vxlan || tunnel === Tunnel.VxlanGpe) {
    const vni = u32(b, at + 4) >>> 8
    return [
      `${name}, network ${vni}`,
      at,
      inside,
      [
        ['Flags', hexNumber(b[at]!, 2)],
        ['VNI', vni],
      ],
    ]
  }
  if (tunnel === Tunnel.Geneve) {
    const vni = u32(b, at + 4) >>> 8
    return [
      `${name}, network ${vni}`,
      at,
      inside,
      [
        ['Protocol', etherTypeText(u16(b, at + 2))],
        ['VNI', vni],
        ['Options', `${inside - at - 8} bytes`],
      ],
    ]
  }
  if (tunnel === Tunnel.Pppoe) {
    return [
      `${name}, session ${u16(b, at + 2)}`,
      at,
      inside,
      [
        ['Session', u16(b, at + 2)],
        ['Length', `${u16(b, at + 4)} bytes`],
        ['PPP protocol', hexNumber(u16(b, at + 6), 4)],
      ],
    ]
  }
  return [name, at, inside, greFields(b, at, inside, truncated)]
}

function greFields(b: Uint8Array, at: number, inside: number, truncated: boolean): FieldList {
  const flags = u16(b, at)
  const protocol = u16(b, at + 2)
  const fields: (readonly [string, string | number])[] = [
    ['Flags', hexNumber(flags, 4)],
    ['Protocol', etherTypeText(protocol)],
  ]
  let next = at + 4
  const optional = (bit: number, name: string, text: (word: number) => string): void => {
    if ((flags & bit) === 0) return
    fields.push([name, text(u32(b, next))])
    next += 4
  }
  optional(0x8000, 'Checksum', (word) => hexNumber(word >>> 16, 4))
  // NVGRE has its network in the upper 24 bits.
  optional(
    0x2000,
    'Key',
    (word) =>
      `${hexNumber(word, 8)}${protocol === 0x6558 ? ` (as NVGRE: network ${word >>> 8}, flow ${word & 255})` : ''}`,
  )
  optional(0x1000, 'Sequence number', String)
  if (inside - next < 8) return fields
  const second = u16(b, next + 2)
  fields.push(
    ['ERSPAN version', (b[next]! >> 4) + 1],
    ['VLAN', u16(b, next) & 0xfff],
    ['Class of service', second >> 13],
    ['Session', second & 0x3ff],
    ['Truncated', truncated ? 'yes' : 'no'],
  )
  if (inside - next === 8) fields.push(['Port index', u32(b, next + 4) & 0xfffff])
  else {
    fields.push(['Time stamp', hexNumber(u32(b, next + 4), 8)], ['Security group', u16(b, next + 8)])
    if (inside - next > 12) fields.push(['Platform data', hexOf(b.subarray(next + 12, inside))])
  }
  return fields
}
