/** The options of `verbena run` that say what programs do. */
import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { takeValueByEquals } from '../../../src/tools/run/optional-value.ts'
import { watchSettings } from '../../../src/tools/run/watching.ts'

function parsed(...words: string[]): { trace: unknown; operands: string[] } {
  const command = new Command()
  takeValueByEquals(command, '--trace')
  command.option('-d, --device <dev>').option('--trace [file]').argument('[words...]').passThroughOptions()
  command.action(() => {})
  command.parse(words, { from: 'user' })
  return { trace: command.opts().trace, operands: command.args }
}

describe('--trace', () => {
  it.each([
    [['--trace', 'program'], '', ['program']],
    [['--trace=t.txt', 'program', '--trace'], 't.txt', ['program', '--trace']],
    [['-d', 'x', '--trace', '--', 'program'], '', ['program']],
    [['--device', '--trace', 'program'], undefined, ['program']],
    [['--', 'program', '--trace'], undefined, ['program', '--trace']],
  ])('of %j is %j', (words, trace, operands) => expect(parsed(...words)).toEqual({ trace, operands }))
})

describe('what is watched', () => {
  it('is nothing unless somebody asks', () => expect(watchSettings({})).toBe(null))

  it('goes to standard error', () =>
    expect(watchSettings({ explain: true, trace: '', counters: true, json: true })).toEqual({
      ...{ explain: true, trace: 2, counters: 2, json: true },
    }))

  it.each([
    [{ json: true }, /--json: it says how a trace or counters are written/],
    [{ trace: '/nowhere/at/all' }, /--trace: \/nowhere\/at\/all cannot be written: ENOENT/],
  ])('%j is a usage error', (options, message) => expect(() => watchSettings(options)).toThrow(message))
})
