/** IP addresses as people write them. Pure: imports nothing. */

/** Parses an address into 4 or 16 bytes; undefined if the text is not a valid address. Interface names (%eth0) are not supported. */
export function parseIp(text: string): Uint8Array | undefined {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text)
}

function parseIpv4(text: string): Uint8Array | undefined {
  const parts = text.split('.')
  if (parts.length !== 4) return undefined
  const address = new Uint8Array(4)
  for (const [i, part] of parts.entries()) {
    if (!/^(0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255) return undefined
    address[i] = Number(part)
  }
  return address
}

function parseIpv6(text: string): Uint8Array | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const head = groupsOf(halves[0]!, halves.length === 1)
  const tail = halves.length === 2 ? groupsOf(halves[1]!, true) : []
  if (head === undefined || tail === undefined) return undefined
  const missing = 8 - head.length - tail.length
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined
  const groups = [...head, ...new Array<number>(missing).fill(0), ...tail]
  return Uint8Array.from({ length: 16 }, (_, i) => (i & 1 ? groups[i >> 1]! : groups[i >> 1]! >> 8))
}

/** Parses the groups of one side of '::'. The last may be an IPv4 address if it ends the whole text. */
function groupsOf(text: string, ends: boolean): number[] | undefined {
  if (text === '') return []
  const parts = text.split(':')
  const groups: number[] = []
  for (const [i, part] of parts.entries()) {
    if (/^[0-9a-f]{1,4}$/i.test(part)) {
      groups.push(Number.parseInt(part, 16))
      continue
    }
    const dotted = ends && i === parts.length - 1 ? parseIpv4(part) : undefined
    if (dotted === undefined) return undefined
    groups.push((dotted[0]! << 8) | dotted[1]!, (dotted[2]! << 8) | dotted[3]!)
  }
  return groups
}
