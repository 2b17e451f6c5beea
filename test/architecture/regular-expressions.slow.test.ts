/**
 * No regular expression of the sources takes the square of its text, or worse: each is tried with texts that it matches, in which a
 * part is repeated many times and the end is wrong.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { createContext, runInContext } from 'node:vm'
import fc from 'fast-check'
import { parseSync } from 'rolldown/utils'
import { expect, it } from 'vitest'

const root = new URL('../../src/', import.meta.url)
const repeats = 20_000
/** Of CPU time: the square of that takes hundreds. */
const mostMs = 100

/** Those whose text is short, or was checked before, with the reason. */
const fine: Readonly<Record<string, string>> = {
  'cli/describe.ts /[<[]([^>\\]]+)[>\\]]/': 'an option of the command line, as the sources declare it',
  'gateway/signals.ts /(\\d*)([fibc])/': 'the text was matched as a whole before',
  'gateway/hooks/frame.ts /(\\d+)([a-z]+)/': 'the text was matched as a whole before',
  'collectives/launch/host-list.ts /\\[(\\d+)[^\\]]*\\]/': 'the text was matched as a whole before',
  'text/digits.ts /\\.0+(?=\\D|$)|(?<=\\.\\d*[1-9])0+(?=\\D|$)/': 'a number that was written here',
  'text/digits.ts /(\\d*)e-(.*)/': 'a number that was written here',
  'gateway/text/digits.ts /0+$/': 'a number that was written here',
  'gateway/text/digits.ts /\\.?0*$/': 'a number that was written here',
  'report/charts/svg.ts /(\\d+(?:\\.\\d+)?)px/': 'the name of a font, from the chart library',
  'tools/trace-kit/interfaces.ts /^\\s*([^\\s:|]+):/': 'a file of /proc',
}

interface Literal {
  readonly name: string
  readonly pattern: string
  readonly flags: string
}

function literalsIn(file: string): Literal[] {
  const text = readFileSync(new URL(file, root), 'utf8')
  const found: Literal[] = []
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const each of node) visit(each)
    else if (typeof node === 'object' && node !== null) {
      const { regex } = node as { regex?: { pattern: string; flags: string } }
      if (regex !== undefined) found.push({ name: `${file} /${regex.pattern}/`, ...regex })
      for (const each of Object.values(node)) visit(each)
    }
  }
  visit(parseSync(file, text).program)
  return found
}

function attacksOn({ pattern, flags }: Literal): Set<string> {
  const attacks = new Set([...' \n\t1a."\\/*-:,=_[({<#%'].map((character) => `${character.repeat(repeats)}\0!`))
  let samples: string[] = []
  try {
    const matching = fc.stringMatching(new RegExp(pattern, flags.replace(/[gy]/g, '')))
    samples = fc.sample(matching, { numRuns: 4, seed: 7 })
  } catch {
    // Of assertions that the library does not know.
  }
  for (const sample of samples) {
    const step = Math.max(1, Math.floor(sample.length / 8))
    for (let i = 0; i < sample.length; i += step) {
      const [head, tail] = [sample.slice(0, i), sample.slice(i + 1)]
      const long = sample[i]!.repeat(repeats)
      for (const attack of [`${head}${long}${tail}\0!`, `${head}${long}\0!`]) attacks.add(attack)
      attacks.add(`${head}${sample.slice(i, i + 2).repeat(repeats / 2)}\0`)
    }
  }
  return attacks
}

const context = createContext({})

/** Whether the expression has done with the text in time. */
function isQuick({ pattern, flags }: Literal, text: string): boolean {
  Object.assign(context, { pattern, flags: flags.replace('g', ''), text })
  const before = process.cpuUsage()
  try {
    runInContext('new RegExp(pattern, flags).exec(text)', context, { timeout: 10 * mostMs })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
  }
  return process.cpuUsage(before).user < mostMs * 1000
}

it('regular expressions take time in proportion to the text', () => {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const literals = files.flatMap(literalsIn)
  expect(literals.length).toBeGreaterThan(200)
  const slow: string[] = []
  for (const literal of literals) {
    if (literal.name in fine || !/[*+]|\{\d*,\d*\}/.test(literal.pattern)) continue
    // Once more: the first time it may have been the collection of garbage.
    const attack = [...attacksOn(literal)].find((text) => !isQuick(literal, text) && !isQuick(literal, text))
    if (attack !== undefined) slow.push(`${literal.name}: ${JSON.stringify(attack.slice(0, 30))}`)
  }
  expect(slow).toEqual([])
  expect(Object.keys(fine).filter((name) => !literals.some((literal) => literal.name === name))).toEqual([])
})
