/** The list of flaky tests is kept: each line names a file that exists, and none is flaky for a third time. */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const mostLines = 2

interface Line {
  day: string
  file: string
  test: string
  said: string
}

/** The rows of the table; throws where one has not four cells. */
function linesOf(text: string): Line[] {
  const rows = text.split('\n').filter((line) => line.startsWith('|'))
  return rows.slice(2).map((row) => {
    const cells = row.split(/(?<!\\)\|/).map((cell) => cell.trim())
    if (cells.length !== 6) throw new Error(`a line of test/flaky.md has not four cells: ${row}`)
    const [, day, file, test, said] = cells
    return { day: day!, file: file!.replaceAll('`', ''), test: test!, said: said! }
  })
}

/** What is wrong with the list: sentences. */
function* mistakesIn(lines: readonly Line[]): Generator<string> {
  const times = new Map<string, number>()
  for (const { day, file, test, said } of lines) {
    if (!/^20\d\d-\d\d-\d\d$/.test(day)) yield `${file}: '${day}' is not a day such as 2026-11-28`
    if (!existsSync(`${root}${file}`)) yield `${file} does not exist: take its lines out`
    if (test === '' || said === '') yield `${file}: say which test, and what it said`
    times.set(file, (times.get(file) ?? 0) + 1)
  }
  for (const [file, count] of times)
    if (count > mostLines) yield `${file} was flaky ${count} times: mend it, or replace it by tests that ask the same`
}

describe('test/flaky.md', () => {
  it('names files that exist, none of them for a third time', () => {
    const lines = linesOf(readFileSync(`${root}test/flaky.md`, 'utf8'))
    expect([...mistakesIn(lines)]).toEqual([])
  })

  it('a third line, a file that is gone, and an empty cell are mistakes', () => {
    const line = (file: string, said = 'a time'): string => `| 2026-11-28 | \`${file}\` | a test | ${said} |`
    const head = '| day | file | test | what it said |\n| --- | --- | --- | --- |\n'
    const here = 'test/flaky.test.ts'
    const mistakes = (...lines: string[]): string[] => [...mistakesIn(linesOf(head + lines.join('\n')))]
    expect(mistakes(line(here), line(here))).toEqual([])
    expect(mistakes(line(here), line(here), line(here))).toEqual([expect.stringMatching(/flaky 3 times/)])
    expect(mistakes(line('test/gone.test.ts'))).toEqual([expect.stringMatching(/does not exist/)])
    expect(mistakes(line(here, ''))).toEqual([expect.stringMatching(/what it said/)])
    expect(() => mistakes('| 2026-11-28 | test/flaky.test.ts |')).toThrow(/four cells/)
  })
})
