/** docs/guide/collect.md: what it prints is what the commands print of the tree that the tests have. */
import { rmSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { verbena } from '../cli/in-process.ts'
import { mlx5, writeTree } from '../collect/trees.ts'
import { textOf } from './markdown.ts'

const page = textOf('docs/guide/collect.md')
const recorded = writeTree(mlx5)
afterAll(() => rmSync(recorded, { recursive: true, force: true }))

/** `$ npx verbena …`, what a `grep -E` behind it lets pass, and the output. */
const examples = [...page.matchAll(/^```\n\$ npx verbena (.*?)(?: \| grep -E '(.*)')?\n([\s\S]*?)^```/gm)].map(
  ([, command, pattern, output]) => [command!, pattern ?? '', output!] as const,
)

describe('the guide to collect', () => {
  it.each(examples)('%s', async (command, pattern, output) => {
    const words = command.split(' ').map((word) => (word === 'recorded' ? recorded : word))
    const { code, stdout } = await verbena(...words)
    expect(code).toBe(0)
    const lines = stdout.split(/(?<=\n)/).filter((line) => new RegExp(pattern).test(line))
    expect(lines.join('')).toBe(output)
  })

  it('has examples', () => expect(examples.length).toBeGreaterThanOrEqual(3))
})
