/**
 * Data of a host without its identifying names: its addresses are mapped like those of an anonymised trace, with the same key,
 * so that both still correspond. GUIDs and descriptions of adapters are left out, since they contain the host's name.
 */
import { createHmac } from 'node:crypto'
import { Anonymiser } from '../trace/index.ts'
import { formatGid, formatIp, parseGid, parseIp } from '../wire/index.ts'
import type { L2Reading } from './l2.ts'
import type { HostReading } from './snapshot.ts'

/** Names that udev and rdma-core derive from a MAC address or a GUID: enx0c42a10a0b0c, rocex0c42a103000a0b0c. */
const nameOfAddress = /\b([a-z]{2,6}x)([0-9a-f]{16}|[0-9a-f]{12})\b/g
/** Names of our own devices. */
const nameOfDevice = /\broce:(\d+\.\d+\.\d+\.\d+|[0-9a-f]*:[0-9a-f:]*[0-9a-f])/g

/** Returns an anonymiser that uses HMAC-SHA-256; the key has at least 16 bytes. */
export function anonymiserOf(key: Uint8Array): Anonymiser {
  return new Anonymiser((purpose, input) => createHmac('sha256', key).update(`${purpose}\0`).update(input).digest())
}

export class HostAnonymiser {
  readonly #by: Anonymiser

  constructor(key: Uint8Array) {
    this.#by = anonymiserOf(key)
  }

  reading(reading: HostReading): HostReading {
    return {
      ...reading,
      devices: reading.devices.map((device) => ({
        ...device,
        ...{ nodeGuid: undefined, description: undefined },
        ports: device.ports.map((port) => ({
          ...port,
          lid: port.lid === undefined ? undefined : this.#by.lid(port.lid),
        })),
      })),
    }
  }

  l2(reading: L2Reading): L2Reading {
    return {
      ...reading,
      ports: reading.ports.map((port) => ({
        ...port,
        gids: port.gids.map((one) => ({ ...one, gid: formatGid(this.#by.address(parseGid(one.gid)!)) })),
      })),
      interfaces: reading.interfaces.map((one) => ({
        ...one,
        mac: one.mac === undefined ? undefined : this.#mac(one.mac),
        addresses: one.addresses.flatMap((address) => this.#network(address) ?? []),
      })),
    }
  }

  /** Returns the text with names that contain addresses replaced. */
  text(text: string): string {
    return text
      .replace(nameOfAddress, (_, kind: string, digits: string) => kind + this.#hex(digits))
      .replace(nameOfDevice, (name, address: string) => {
        const bytes = parseIp(address)
        return bytes === undefined ? name : `roce:${formatIp(this.#by.address(bytes))}`
      })
  }

  /** Maps a network such as `10.0.0.7/24`; undefined if the text is not an address. */
  #network(text: string): string | undefined {
    const [address = '', ...prefix] = text.split('/')
    const bytes = parseIp(address)
    return bytes === undefined ? undefined : [formatIp(this.#by.address(bytes)), ...prefix].join('/')
  }

  #mac(text: string): string {
    const digits = text.replaceAll(':', '')
    return /^([0-9a-f]{12})$/i.test(digits) ? this.#hex(digits).replace(/..(?=.)/g, '$&:') : '?'
  }

  #hex(digits: string): string {
    return Buffer.from(this.#by.address(Buffer.from(digits, 'hex'))).toString('hex')
  }
}
