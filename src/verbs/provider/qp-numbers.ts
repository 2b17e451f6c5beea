/** The hash table of QP numbers, by which a queue pair is found from the number that packets and peers name. `Host.findQp` searches it. */
import type { Host } from './host.ts'
import { Qp, qpNumberSlots } from './layout.ts'

const tombstone = -1

/** Gives a QP an unpredictable number, under the control lock. */
export function assignQpNumber(host: Host, slot: number): number {
  const { i32, at } = host
  for (;;) {
    const number = host.platform.randomInt(16, 0xffffff)
    if (host.findQp(number) >= 0) continue
    let index = number & (qpNumberSlots - 1)
    while (i32[at.qpNumbers + index]! > 0) index = (index + 1) & (qpNumberSlots - 1)
    i32[at.qpNumbers + index] = slot + 1
    Atomics.store(i32, host.qpWord(slot) + Qp.number, number)
    return number
  }
}

/** Takes the number of a QP that is closed out of the table and from the QP, under the control lock. */
export function forgetQpNumber(host: Host, slot: number): void {
  const { i32 } = host
  const word = host.qpWord(slot) + Qp.number
  const number = i32[word]!
  if (number < 0) return
  forget(host, slot, number)
  Atomics.store(i32, word, -number)
}

function forget(host: Host, slot: number, number: number): void {
  const { i32 } = host
  const base = host.at.qpNumbers
  let at = number & (qpNumberSlots - 1)
  while (i32[base + at] !== slot + 1) {
    if (i32[base + at] === 0) return
    at = (at + 1) & (qpNumberSlots - 1)
  }
  i32[base + at] = tombstone
  if (i32[base + ((at + 1) & (qpNumberSlots - 1))] === 0) {
    while (i32[base + at] === tombstone) {
      i32[base + at] = 0
      at = (at - 1 + qpNumberSlots) & (qpNumberSlots - 1)
    }
  }
}
