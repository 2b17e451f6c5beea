/** The list itself: every numbered case of groups A to K and M is a test or has a reason not to be one. 127, QP 1, is ours. */
import { describe, expect, it } from 'vitest'
import { notApplicable } from './not-applicable.ts'
import { caseNumber, caseTitles } from './suite.ts'

const cases = [...range(1, 110), ...range(120, 127)]

describe('the conformance list', () => {
  const titles = caseTitles()
  const tested = new Set(titles.map(caseNumber))
  const excused = notApplicable.map(({ number }) => number)

  it('has each number either as a test or in the table of what does not apply', () => {
    expect(cases.filter((number) => tested.has(number) === excused.includes(number))).toEqual([])
  })

  it('has no other numbers', () => {
    expect([...tested, ...excused].filter((number) => !cases.includes(number))).toEqual([])
  })

  it('has no title twice', () => {
    expect(titles.filter((title, i) => titles.indexOf(title) !== i)).toEqual([])
    expect(new Set(excused).size).toBe(excused.length)
  })
})

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i)
}
