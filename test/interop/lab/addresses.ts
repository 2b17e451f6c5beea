/** Who is who on the bridge: this side is host 1, guest N is host N + 1. The MTU lets RoCE packets carry 4096 bytes. */

export const mtu = 4500
export const ethernetHeader = 14

export interface HostAddresses {
  ipv4: string
  /** A unique local address: always the same, and routed like a global one. */
  ipv6: string
}

function addressesOf(host: number): HostAddresses {
  return { ipv4: `10.77.0.${host}`, ipv6: `fd77::${host.toString(16)}` }
}

/** This side: the bridge of the namespace. */
export const ours: HostAddresses = addressesOf(1)
/** One more address of this side, for devices whose GID is link-local. */
export const ourLinkLocal = 'fe80::77:1'

export function guestAddresses(guest: number): HostAddresses {
  return addressesOf(guest + 1)
}

export function guestMac(guest: number): string {
  return `52:54:00:76:62:${guest.toString(16).padStart(2, '0')}`
}

/** The 32 hexadecimal digits, in groups of four, under which Linux lists the GID of an address. */
export function gidText(address: string): string {
  if (address.includes('.')) {
    const [a, b, c, d] = address.split('.').map((byte) => Number(byte).toString(16).padStart(2, '0'))
    return `0000:0000:0000:0000:0000:ffff:${a}${b}:${c}${d}`
  }
  return ipv6Words(address).join(':')
}

/** The eight words of an IPv6 address, four hexadecimal digits each. */
export function ipv6Words(address: string): string[] {
  const [head, end] = address.split('::').map((part) => part.split(':').filter(Boolean))
  const words = end ? [...head!, ...Array(8 - head!.length - end.length).fill('0'), ...end] : head!
  return words.map((word: string) => word.padStart(4, '0'))
}

/** As /proc/net lists it: words of four bytes, each in the byte order of this host. */
export function procAddress(address: string): string {
  const bytes = address.includes('.')
    ? Buffer.from(address.split('.').map(Number))
    : Buffer.from(ipv6Words(address).join(''), 'hex')
  return Buffer.from(bytes).swap32().toString('hex').toUpperCase()
}
