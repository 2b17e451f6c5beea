/** docs/guide/replay.md: what it prints is what the commands print. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { verbena } from '../cli/in-process.ts'
import { root, textOf } from './markdown.ts'

const dir = mkdtempSync(join(tmpdir(), 'verbena-replay-docs-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const page = textOf('docs/guide/replay.md')
const blocks = [
  ...page.matchAll(/^```\n\$ npx verbena ((?:replay (?:packets|messages)|traffic fit) .*)\n([\s\S]*?)^```/gm),
]

it('has examples', () => expect(blocks.length).toBeGreaterThan(0))

it.each(blocks.map(([, command, shown]) => [command!, shown!]))('%s', async (command, shown) => {
  const [verb, head] = command.split(' | head -')
  const words = verb!.split(' ').map((word, i, all) => {
    if (['--to', '--all'].includes(all[i - 1]!)) return join(dir, word)
    return word.endsWith('.pcap') ? `${root}test/captures/${word}` : word
  })
  const { code, stdout } = await verbena(...words)
  const lines = stdout.replaceAll(`${dir}/`, '').split(/(?<=\n)/)
  expect([code, lines.slice(0, head === undefined ? undefined : Number(head)).join('')]).toEqual([0, shown])
})
