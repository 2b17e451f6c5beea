/** docs/guide/traffic.md: what it prints is what the commands print, and its configuration is right. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { readTraffic } from '../../src/traffic/load/index.ts'
import { verbena } from '../cli/in-process.ts'
import { blocksOf, root, textOf } from './markdown.ts'

const page = textOf('docs/guide/traffic.md')
const examples = [...page.matchAll(/^```\n\$ npx verbena ([^\n]*)\n([\s\S]*?)^```/gm)].map(([, command, output]) => [
  command!,
  output!,
])

describe('the guide to traffic', () => {
  it.each(examples)('%s', async (command, output) => {
    const words = command!.split(' ').map((word) => (word.startsWith('examples/') ? root + word : word))
    expect(await verbena(...words)).toEqual({ code: 0, stdout: output, stderr: '' })
  })

  it('has a program, which prints what it says', async () => {
    const [, program, output] = /^```\n\$ node (examples\/\S+)\n([\s\S]*?)^```/m.exec(page)!
    const { stdout } = await promisify(execFile)(process.execPath, [program!], { cwd: root })
    expect(stdout).toBe(output)
  })

  it('has examples, and a configuration that can be read', () => {
    expect(examples).toHaveLength(2)
    const [yaml] = blocksOf(page, 'yaml')
    expect(readTraffic(yaml!, 'guide.yaml').phases).toHaveLength(2)
  })
})
