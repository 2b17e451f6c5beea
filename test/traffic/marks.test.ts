/** Marks of WRITEs on UC: what has come, also behind flows that were given up. */
import { describe, expect, it } from 'vitest'
import { bankBytes, bankMarks } from '../../src/traffic/run/layout.ts'
import { endOf, Marks } from '../../src/traffic/run/marks.ts'

/** Both banks, and a WRITE of so many bytes as the peer would do it. */
function banks() {
  const bytes = new Uint8Array(2 * bankBytes)
  const write = (number: number, length = 1): void => {
    bytes.fill(0, endOf(number) - length, endOf(number) - 1)
    bytes[endOf(number) - 1] = 1
  }
  return { marks: new Marks(bytes), write }
}

describe('marks', () => {
  it('say of each flow whether all its WRITEs have come', () => {
    const { marks, write } = banks()
    for (let number = 0; number < 5000; number += 2) {
      const lost = number % 6 === 0
      marks.ask(2)
      write(number, 100)
      if (!lost) write(number + 1, 100)
      expect(marks.take(2)).toBe(!lost)
    }
  })

  it('of a flow that was given up and comes late do not count for another', () => {
    const { marks, write } = banks()
    marks.ask(1)
    marks.giveUp(1)
    write(0)
    // As many as both banks have, and the last one is lost, which uses the same place.
    for (let number = 1; number < 2 * bankMarks; number++) {
      marks.ask(1)
      write(number)
      expect(marks.take(1)).toBe(true)
    }
    marks.ask(1)
    expect(marks.take(1)).toBe(false)
  })

  it('stay those of the flows behind it when flows are given up', () => {
    const { marks, write } = banks()
    for (let i = 0; i < 3; i++) marks.ask(2)
    for (let number = 0; number < 6; number++) write(number)
    marks.giveUp(2)
    expect([marks.take(2), marks.take(2)]).toEqual([true, true])
  })

  it('go on however many flows are given up', () => {
    const { marks, write } = banks()
    for (const writes of [3, bankMarks, 5 * bankMarks, 700, 700, 700]) {
      expect(marks.admits(writes)).toBe(true)
      marks.ask(writes)
      marks.giveUp(writes)
    }
    const next = 3 + 6 * bankMarks + 2100
    marks.ask(2)
    write(next)
    write(next + 1)
    expect(marks.take(2)).toBe(true)
    marks.ask(2)
    write(next + 2)
    expect(marks.take(2)).toBe(false)
  })

  it('show whether anything of what is outstanding has come since', () => {
    const { marks, write } = banks()
    marks.ask(3 * bankMarks)
    expect(marks.moved()).toBe(false)
    for (let number = 0; number < 3 * bankMarks; number += 7) {
      write(number, 300)
      expect([marks.moved(), marks.moved()]).toEqual([true, false])
    }
  })
})
