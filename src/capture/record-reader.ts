/** Common part of the readers of both formats: they record damage, and search after it for the next whole record or block. */
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
  /** True if the window may be in the middle of a record. */
  protected searching = false
  #lost: Damage | undefined

  constructor(window: ByteWindow, packet: CapturedPacket, damage: DamageLog, littleEndian: boolean) {
    this.window = window
    this.packet = packet
    this.damage = damage
    this.littleEndian = littleEndian
  }

  /** Reads the next packet into `packet`, or returns the reason why there is none now. */
  abstract next(): StepValue

  /** Moves the window to the next plausible record: then returns `Step.Packet`. */
  protected abstract search(): StepValue

  /** Searches after damage: returns `Step.Packet` if reading can continue. */
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

  /** Records that the bytes at the window cannot be read, and starts the search for the next record. */
  protected lose(what: string): void {
    this.#lost = this.note(what)
    this.window.start++
    this.searching = true
  }
}
