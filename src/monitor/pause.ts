/**
 * Ethernet's MAC control frames that stop a sender: PAUSE (IEEE 802.3, annex 31B) and PFC (annex 31D, 802.1Qbb), which does so for each
 * class. A time is counted in quanta of 512 bit times, so what it lasts depends on the rate of the link.
 *
 *     0   destination 01:80:c2:00:00:01   12  Ethertype 0x8808   14  opcode: 0x0001 PAUSE, 0x0101 PFC
 *     PAUSE  16  quanta            PFC  16  enabled classes, 18 + 2 n  quanta of class n
 */
import type { CapturedPacket } from '../capture/index.ts'
import { u16 } from '../wire/index.ts'
import { pauseClasses } from './window.ts'

const macControl = 0x8808
const pause = 0x0001
const priorityPause = 0x0101
const linkClass = pauseClasses - 1
const ethernet = 1

/** Adds frames and quanta of each class. Returns the sum of the quanta, 0 if that ends a pause, −1 if this is no such frame. */
export function addPause({ bytes, offset, length, linkType }: CapturedPacket, pauses: Float64Array): number {
  if (linkType !== ethernet || length < 18 || u16(bytes, offset + 12) !== macControl) return -1
  const opcode = u16(bytes, offset + 14)
  if (opcode === pause) {
    const quanta = u16(bytes, offset + 16)
    pauses[2 * linkClass]!++
    pauses[2 * linkClass + 1]! += quanta
    return quanta
  }
  if (opcode !== priorityPause || length < 34) return -1
  let sum = 0
  for (let n = 0; n < 8; n++) {
    if ((bytes[offset + 17]! & (1 << n)) === 0) continue
    const quanta = u16(bytes, offset + 18 + 2 * n)
    pauses[2 * n]!++
    pauses[2 * n + 1]! += quanta
    sum += quanta
  }
  return sum
}
