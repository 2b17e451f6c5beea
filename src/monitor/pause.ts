/**
 * Ethernet's MAC control frames that stop a sender: PAUSE (IEEE 802.3, annex 31B) and PFC (annex 31D, 802.1Qbb), which does so for each
 * class. A time is counted in quanta of 512 bit times, so what it lasts depends on the rate of the link.
 *
 *     0   destination 01:80:c2:00:00:01   12  Ethertype 0x8808   14  opcode: 0x0001 PAUSE, 0x0101 PFC
 *     PAUSE  16  quanta            PFC  16  enabled classes, 18 + 2 n  quanta of class n
 */
import type { CapturedPacket } from '../capture/index.ts'
import { u16 } from '../wire/index.ts'
import { pauseClasses, type Window } from './window.ts'

const macControl = 0x8808
const pause = 0x0001
const priorityPause = 0x0101
const linkClass = pauseClasses - 1
const ethernet = 1

/**
 * Adds frames and quanta of each class to a window of a run, also by the port that sends them: short pauses by many ports are not a storm.
 * Returns the sum of the quanta, 0 if that ends a pause, −1 if this is not such a frame.
 */
export function addPause({ bytes, offset, length, linkType }: CapturedPacket, window: Window, run: string): number {
  if (linkType !== ethernet || length < 18 || u16(bytes, offset + 12) !== macControl) return -1
  const opcode = u16(bytes, offset + 14)
  if (opcode !== pause && (opcode !== priorityPause || length < 34)) return -1
  const port = window.pausesOf(portName(run, bytes, offset + 6))
  let sum = 0
  for (let n = 0; n < pauseClasses; n++) {
    const isAsked = opcode === pause ? n === linkClass : n !== linkClass && (bytes[offset + 17]! & (1 << n)) !== 0
    if (!isAsked) continue
    const quanta = u16(bytes, offset + (opcode === pause ? 16 : 18 + 2 * n))
    for (const pauses of [window.pauses, port]) {
      if (pauses === undefined) continue
      pauses[2 * n]!++
      pauses[2 * n + 1]! += quanta
    }
    sum += quanta
  }
  return sum
}

const macLength = 17

/** Returns the run of an agent, and the MAC address of a port. */
function portName(run: string, bytes: Uint8Array, at: number): string {
  const mac = Array.from(bytes.subarray(at, at + 6), (byte) => byte.toString(16).padStart(2, '0')).join(':')
  return `${run} ${mac}`
}

/** Returns the MAC address in the name of a port. */
export function macOf(port: string): string {
  return port.slice(-macLength)
}

/** True if the value, which may come from another process, is the name of a port. */
export function isPort(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 256 + 1 + macLength && /^[^\p{Cc}]+ [0-9a-f:]{17}$/u.test(value)
}
