/** Damage of a capture file, with its position. Lists of it are bounded, since damage may be everywhere. */

export interface Damage {
  /** Byte offset in the (uncompressed) file. */
  offset: number
  /** Number of the next packet, from 1. */
  packet: number
  /** Description: one sentence without a full stop. */
  what: string
}

export class DamageLog {
  readonly list: Damage[] = []
  /** Number of all defects found, including those that did not fit into the list. */
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

/** Returns the damage as a line: offset, packet, description. */
export function describeDamage({ offset, packet, what }: Damage): string {
  return `offset ${offset} (before packet ${packet}): ${what}`
}
