/** docs/guide/trace.md: what it prints is what the commands print, and its tables are those of the program. */
import { describe, expect, it } from 'vitest'
import { filterFields, problemRules, timeFormats } from '../../src/trace/index.ts'
import { verbena } from '../cli/in-process.ts'
import { root, textOf } from './markdown.ts'

const page = textOf('docs/guide/trace.md')

/** The rows of a table, each as its cells. */
function table(firstColumn: string): string[][] {
  const from = page.indexOf(`| ${firstColumn} |`)
  const lines = page.slice(from, page.indexOf('\n\n', from)).split('\n').slice(2)
  return lines.map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  )
}

const code = (name: string): string => `\`${name}\``

/** `$ npx verbena …` with what follows it, until the next command or the end of the block. */
function examples(): [string, string][] {
  const blocks = [...page.matchAll(/^```\n(\$ npx verbena [\s\S]*?)^```/gm)].map(([, block]) => block!)
  return blocks
    .flatMap((block) => block.split(/^\$ /m).slice(1))
    .map((text) => {
      const end = text.indexOf('\n')
      return [text.slice(0, end), text.slice(end + 1)] as [string, string]
    })
    .filter(([command]) => !command.includes('broken.pcap'))
}

/** A shell's words, with captures where they are. */
function argumentsOf(command: string): string[] {
  const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!)
  return words.slice(2).map((word) => (word.endsWith('.pcap') ? `${root}test/captures/${word}` : word))
}

describe('the guide to trace', () => {
  it.each(examples())('%s', async (command, output) => {
    const { code: exitCode, stdout, stderr } = await verbena(...argumentsOf(command))
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(stdout).toBe(output)
  })

  it('has examples', () => {
    expect(examples().length).toBeGreaterThanOrEqual(8)
  })

  it('lists all fields of filters', () => {
    const fields = Object.entries(filterFields)
    expect(table('field')).toEqual(fields.map(([name, { text, json }]) => [code(name), text, json ? code(json) : '']))
  })

  it('lists all rules of check', () => {
    expect(table('rule')).toEqual(problemRules.map(({ name, text }) => [code(name), text]))
  })

  it('lists all formats of times', () => {
    const formats = Object.entries(timeFormats)
    expect(table('format').map(([name, letter]) => [name, letter])).toEqual(
      formats.map(([name, { letter }]) => [code(name), code(letter)]),
    )
  })
})
