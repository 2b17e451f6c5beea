/** What is wrong in a capture file, and where: a bounded list, since damage may be everywhere. */

export interface Damage {
  /** Byte offset in the (uncompressed) file. */
  offset: number
  /** Number of the packet that comes next, from 1. */
  packet: number
  /** One sentence without a full stop. */
  what: string
}

export class DamageLog {
  readonly list: Damage[] = []
  /** All that was found, the list's and what did not fit into it. */
  count = 0
  readonly limit: number

  constructor(limit: number = 100) {
    this.limit = limit
  }

  add(offset: number, packet: number, what: string): Damage {
    this.count++
    const damage = { offset, packet, what }
    if (this.list.length < this.limit) this.list.push(damage)
    return damage
  }
}

/** The damage as a line: offset, packet, what it is. */
export function describeDamage({ offset, packet, what }: Damage): string {
  return `offset ${offset} (before packet ${packet}): ${what}`
}
