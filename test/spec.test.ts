/** The clauses that comments name: the form is kept, each clause has a test, and deviations have reasons (`npm run spec`). */
import { describe, expect, it } from 'vitest'
import { casesOf, formatSpec, mentionsOf, readSpec, withoutTest } from '../scripts/spec.ts'

describe('the clauses that src/ names', () => {
  const spec = readSpec()
  const clausesAt = (file: string): string[] =>
    spec.mentions.filter((at) => at.isDeviation && at.file === file).flatMap(({ clauses }) => clauses)

  it('are named in the form that the script reads, and tests name no others', () => {
    expect(spec.mistakes.map(({ file, line, message }) => `${file}:${line}: ${message}`)).toEqual([])
  })

  it('have a test each, or a reason to have none', () => {
    expect(spec.untested).toEqual(Object.keys(withoutTest))
  })

  it('have a reason where we deviate: of repeated NAKs and of READ responses among others', () => {
    for (const { file, line, text } of spec.mentions.filter(({ isDeviation }) => isDeviation))
      expect(text.split(' ').length, `${file}:${line}`).toBeGreaterThan(10)
    expect(clausesAt('src/transport/responder.ts')).toContain('9.7.5.2')
    expect(clausesAt('src/transport/completer.ts')).toContain('9.7.6.1')
  })

  it('are printed by file and line', () => {
    const { file, line, clauses, text } = spec.mentions[0]!
    expect(formatSpec(spec)).toMatch(`${file}\n  ${String(line).padStart(4)}  ${clauses.join(', ')}: ${text}`)
  })
})

describe('a comment', () => {
  const read = (source: string, needsText = true) => mentionsOf('a.ts', source, needsText)

  it('names sections, statements and cases of the list; what follows it is its text', () => {
    const source = `
      // Of the packet.
      // IBA 9.7.5.2.8: how long to wait
      // at least.
      const x = 1
      /** IBA A17.4.1.1, CA17-22: a GID. */
      /**
       * IBA o10-37.2.30, oA19-13, o14-3.a4, list-83 deviation: why
       * we do.
       *
       * More.
       */`
    const common = { file: 'a.ts', isDeviation: false }
    expect(read(source)).toEqual({
      mistakes: [],
      mentions: [
        { ...common, line: 3, clauses: ['9.7.5.2.8'], text: 'how long to wait at least.' },
        { ...common, line: 6, clauses: ['A17.4.1.1', 'CA17-22'], text: 'a GID.' },
        {
          ...common,
          ...{
            line: 8,
            clauses: ['o10-37.2.30', 'oA19-13', 'o14-3.a4', 'list-83'],
            isDeviation: true,
            text: 'why we do.',
          },
        },
      ],
    })
  })

  it('of a test needs no text', () => {
    expect(read('// IBA C9-88', false).mentions).toMatchObject([{ clauses: ['C9-88'], text: '' }])
    expect(read('// IBA C9-88').mistakes).toHaveLength(1)
  })

  it.each([
    '// IBA: something',
    '// IBA chapter 9: something',
    '// IBA 9: a whole chapter',
    '// IBA C9-88 something',
    '// IBA C9-88 and C9-105: something',
    '// IBA C9-88 deviation',
    '// The timeout (C9-140).',
    '/** Statement o10-37.2.30. */',
  ])('%s is a mistake', (source) => {
    expect(read(source)).toMatchObject({ mentions: [], mistakes: [{ line: 1 }] })
  })

  it('has nothing to do with code, or with other words', () => {
    expect(read("const IBA = 'C9-88'\n// IBAN 9.7\n// of IBA 9.8.2")).toEqual({ mentions: [], mistakes: [] })
  })
})

it('cases of the conformance list are in titles', () => {
  expect(casesOf("x\nit('82 no receive', () => {})\nit(`7 a title`)\nf('82', 100)")).toEqual([
    { clause: 'list-82', line: 2 },
    { clause: 'list-7', line: 3 },
  ])
})
