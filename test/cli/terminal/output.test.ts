/** Tables as text. */
import { Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { expect, it } from 'vitest'
import { runWith, table } from '../../../src/cli/terminal/index.ts'

const nowhere = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() })
const printed = <T>(body: () => T): T => runWith({ stdout: nowhere(), stderr: nowhere() }, [], body)

const head = ['service', 'min', 'median', 'max']
const rows = [
  ['RC', '1', '1,234', '56'],
  ['UD', '22', '7', '1,000,000'],
]

it('aligns numbers at the right, and counts no colours', () => {
  const coloured = rows.map(([first, ...rest]) => [`\u001b[1m${first}\u001b[22m`, ...rest])
  expect(printed(() => table(head, rows))).toBe(
    ['service  min  median        max', 'RC         1   1,234         56', 'UD        22       7  1,000,000'].join(
      '\n',
    ),
  )
  expect(stripVTControlCharacters(printed(() => table(head, coloured)))).toBe(printed(() => table(head, rows)))
})
