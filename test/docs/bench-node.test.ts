/** docs/guide/bench-node.md: its commands are right, and its tables are those of the command. */
import { Command } from 'commander'
import { expect, it } from 'vitest'
import type { GivenOptions } from '../../src/tools/bench-kit/index.ts'
import { configure } from '../../src/tools/bench-node/command.ts'
import { planNodes } from '../../src/tools/bench-node/plan.ts'
import { nodeModes } from '../../src/tools/bench-node/settings.ts'
import { textOf } from './markdown.ts'

const page = textOf('docs/guide/bench-node.md')
const commands = [...page.matchAll(/^(?:\$ )?npx verbena bench node(.*)$/gm)].map(([, options]) => options!.trim())

it.each(commands)('bench node %s', async (options) => {
  const command = new Command('node')
  configure(command)
  let given: GivenOptions | undefined
  command.action((parsed: GivenOptions) => {
    given = parsed
  })
  const words = options.split(' ').filter((word) => word !== '')
  await command.parseAsync(words, { from: 'user' })
  expect(planNodes(given!, 'processes', 1).sets.length).toBeGreaterThan(0)
})

it('has commands, and names all node-types with their modes', () => {
  expect(commands.length).toBeGreaterThan(3)
  for (const [node, modes] of Object.entries(nodeModes))
    expect(page).toContain(`| \`${node}\` | ${modes.map((mode) => `\`${mode}\``).join(', ')} |`)
})

it('says what --json has', () => {
  const [, text] = /^```json\n([\s\S]*?)```/m.exec(page)!
  const { runs, unit } = JSON.parse(text!)
  expect(unit).toBe('ns')
  expect(Object.keys(runs[0])).toEqual(['settings', 'latency', 'missed', 'missing', 'notTransmitted'])
  expect(Object.keys(runs[0].latency)).toEqual(['count', 'min', 'p10', 'median', 'p90', 'p99', 'max'])
})
