/** What the readers of both formats share: they note damage, and behind it look for the next whole record or block. */
import type { Damage, DamageLog } from './damage.ts'
import type { CapturedPacket, InterfaceInfo } from './packet.ts'
import { type ByteWindow, Step, type StepValue } from './window.ts'

export abstract class RecordReader {
  readonly window: ByteWindow
  readonly packet: CapturedPacket
  readonly damage: DamageLog
  /** All interfaces of the file. */
  readonly interfaces: InterfaceInfo[] = []
  littleEndian: boolean
  /** Whether the window may be in the middle of a record. */
  protected searching = false
  #lost: Damage | undefined

  constructor(window: ByteWindow, packet: CapturedPacket, damage: DamageLog, littleEndian: boolean) {
    this.window = window
    this.packet = packet
    this.damage = damage
    this.littleEndian = littleEndian
  }

  /** The next packet into `packet`, or why there is none now. */
  abstract next(): StepValue

  /** Puts the window at the next record that can be believed: then `Step.Packet`. */
  protected abstract search(): StepValue

  /** Searches after damage: `Step.Packet` where reading goes on. */
  protected resume(): StepValue {
    const found = this.search()
    if (found !== Step.Packet) return found
    this.searching = false
    if (this.#lost !== undefined) this.#lost.what += `; reading goes on at offset ${this.window.fileOffset}`
    return found
  }

  protected note(what: string): Damage {
    return this.damage.add(this.window.fileOffset, this.packet.number + 1, what)
  }

  /** What is at the window cannot be read: the next record is to be searched for. */
  protected lose(what: string): void {
    this.#lost = this.note(what)
    this.window.start++
    this.searching = true
  }
}
