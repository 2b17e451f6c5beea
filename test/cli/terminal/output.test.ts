/** Tables as text. */
import { Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { afterEach, expect, it, vi } from 'vitest'
import { isTerminal, runWith, table, wantsColour } from '../../../src/cli/terminal/index.ts'

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

afterEach(() => vi.unstubAllEnvs())

it('colours only terminals that have them, and no rank of Open MPI, whose terminal is not the one that is looked at', () => {
  vi.stubEnv('NO_COLOR', undefined)
  vi.stubEnv('OMPI_COMM_WORLD_RANK', undefined)
  const terminal = Object.assign(nowhere(), { isTTY: true, hasColors: () => true })
  expect(wantsColour(terminal)).toBe(true)
  expect(wantsColour(nowhere())).toBe(false)
  expect(wantsColour(Object.assign(nowhere(), { isTTY: true, hasColors: () => false }))).toBe(false)
  vi.stubEnv('NO_COLOR', '1')
  expect([isTerminal(terminal), wantsColour(terminal)]).toEqual([true, false])
  vi.stubEnv('NO_COLOR', undefined)
  vi.stubEnv('OMPI_COMM_WORLD_RANK', '0')
  expect([isTerminal(terminal), wantsColour(terminal)]).toEqual([false, false])
})
