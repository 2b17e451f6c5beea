/** docs/guide/gateway.md: what it prints is what the command prints, and its table has all formats. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { formatNames } from '../../src/gateway/index.ts'
import { command } from '../built.ts'
import { textOf } from './markdown.ts'

const page = textOf('docs/guide/gateway.md')
const [log, commands] = [...page.matchAll(/^```\n([\s\S]*?)^```/gm)].map(([, block]) => block!)
const examples = commands!
  .split(/^\$ /m)
  .slice(1)
  .map((text) => [text.slice(0, text.indexOf('\n')), text.slice(text.indexOf('\n') + 1)] as const)

it.concurrent.each(examples)('%s', async (line, output) => {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!)
  expect([...words.slice(0, 2), ...words.slice(-2)]).toEqual(['npx', 'verbena', '<', 'log.dat'])
  const run = promisify(execFile)(process.execPath, [command, ...words.slice(2, -2)])
  run.child.stdin!.end(log)
  expect(await run).toEqual({ stdout: output, stderr: '' })
})

it('lists all formats', () => {
  const rows = page.slice(page.indexOf('| format |')).split('\n\n')[0]!.split('\n').slice(2)
  const names = rows.flatMap((row) => [...row.split('|')[1]!.matchAll(/`([^`]+)`/g)].map(([, name]) => name))
  expect(names).toEqual(formatNames)
})
