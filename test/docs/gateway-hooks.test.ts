/**
 * docs/guide/gateway-hooks.md: its examples have the output that the hooks give, and its tables have all of them. VERBENA_UPDATE_DOCS=1 writes
 * the output instead.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { hashOf, loadHookTypes } from '../../src/gateway/host/index.ts'
import {
  Converter,
  formatOf,
  type HookContext,
  hooksOf,
  hookTypes,
  readHooks,
  signalsOf,
} from '../../src/gateway/index.ts'
import { settingsOf } from '../../src/tools/gateway/hook.ts'
import { root, textOf } from './markdown.ts'

const file = 'docs/guide/gateway-hooks.md'
const page = textOf(file)
const log = /`log\.dat`[^`]*```\n([\s\S]*?)^```/m.exec(page)![1]!

const grid = Array.from({ length: 243 }, (_, n) => {
  const wave = (effective: number, lag: number): string =>
    (effective * Math.SQRT2 * Math.cos((2 * Math.PI * 50 * n) / 1000 - lag)).toFixed(17)
  return `1.${String(n * 1e6).padStart(9, '0')}+1e-3(${n})\t${wave(230, 0)}\t${wave(10, Math.PI / 3)}\n`
}).join('')

const pulses = Array.from({ length: 20 }, (_, n) => `0.0(${n})\t${n % 4 === 1 ? 5 : 0}\t${n}\n`).join('')

const inputs: Record<string, string> = {
  'pps.dat': pulses,
  'log.dat': log,
  'grid.dat': grid,
  'short.dat': '1.5+1e-3(7)\t0.25\n',
}
const plain = '{"type":"villas.human","header":false,"real_precision":2}'

/** What a command line prints: log, files called stdout, and samples, in their order. */
async function run(line: string): Promise<string> {
  let input = Buffer.from('')
  for (const part of line.split(' | ')) input = Buffer.from(await runHook(part, input))
  return input.toString()
}

async function runHook(line: string, piped: Buffer): Promise<string> {
  const words = line.replace('"$F"', plain).split(/\s+(?=[^\s])/)
  expect(words.slice(0, 4)).toEqual(['npx', 'verbena', 'gateway', 'hook'])
  const [name, ...rest] = words.slice(4)
  const options: string[] = []
  const values: Record<string, string> = { '-F': 'villas.human' }
  for (let i = 0; i < rest.length; i += 2)
    if (rest[i] === '-o') options.push(rest[i + 1]!)
    else values[rest[i]!] = rest[i + 1]!
  const input = values['<'] === undefined ? piped : Buffer.from(inputs[values['<']]!)
  const signals = signalsOf(values['-t']!)
  const output: string[] = []
  const write = (bytes: Uint8Array): void => void output.push(Buffer.from(bytes).toString('latin1'))
  const context: HookContext = {
    signals,
    values: 64,
    owner: 'standard input',
    // The moment of the examples.
    stamp: (samples, word) => samples.setInt64(word, 1553516817),
    nowNs: () => 0,
    open: (path) => {
      expect(path).toBe('stdout')
      return { write, close: () => {} }
    },
    log: (_, text) => void output.push(`${text}\n`),
    hash: hashOf,
  }
  const configs = readHooks('hook', { hooks: [{ ...settingsOf(options), type: name }] }, () => undefined)
  const chain = hooksOf(configs, context, { types: await loadHookTypes(configs, root) })
  const format = values['-F']!.startsWith('{') ? JSON.parse(values['-F']!) : values['-F']
  const decoder = formatOf('villas.human').decoder(signals)
  const converter = new Converter(decoder, formatOf(format).encoder(chain.signals), {
    write,
    values: 64,
    between: chain,
  })
  chain.restart()
  await converter.push(input)
  await converter.end()
  chain.stop()
  expect([chain.errors, decoder.problems.count, decoder.problems.surplus]).toEqual([0, 0, 0])
  return output.join('')
}

const examples = [...page.matchAll(/^\$ (.+)\n([\s\S]*?)(?=^\$ |^```)/gm)].map(
  ([, line, output]) => [line!, output!] as const,
)

it('shows what comes out', async () => {
  let text = page
  for (const [line, output] of examples) {
    const expected = await run(line)
    if (process.env.VERBENA_UPDATE_DOCS) text = text.replace(`$ ${line}\n${output}`, () => `$ ${line}\n${expected}`)
    else expect([line, output]).toEqual([line, expected])
  }
  if (process.env.VERBENA_UPDATE_DOCS) writeFileSync(`${root}${file}`, text)
})

it('has all hooks, with their priorities, and an example of each', () => {
  const rows = page.slice(page.indexOf('| hook |')).split('\n\n')[0]!.split('\n').slice(2)
  const listed = rows.map((row) =>
    row
      .split('|')
      .slice(1, 3)
      .map((cell) => cell.trim().replaceAll('`', '')),
  )
  expect(listed).toEqual(Object.values(hookTypes).map(({ name, priority }) => [name, String(priority)]))
  const shown = new Set(
    examples.flatMap(([line]) => [...line.matchAll(/gateway hook (\w+)/g)].map(([, name]) => name!)),
  )
  expect(Object.keys(hookTypes).filter((name) => !shown.has(name))).toEqual([])
  expect(readFileSync(`${root}examples/gateway-hook.mjs`, 'utf8')).toContain('export default {')
})
