/** docs/guide/gateway-nodes.md and gateway-local.md: their examples are configurations without a mistake, and their lists are those of the code. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { commonOfNode, missingTypes, settingsOfNode } from '../../src/gateway/index.ts'
import { loadText } from '../../src/gateway/load/index.ts'
import { loadNodeType, nodeTypes } from '../../src/gateway/nodes/index.ts'
import { textOf } from './markdown.ts'

const page = textOf('docs/guide/gateway-nodes.md')
const local = textOf('docs/guide/gateway-local.md')
const hooks = textOf('docs/guide/gateway-hooks.md')
const moving = textOf('docs/guide/gateway-villasnode.md')
const examples = [page, local, moving].flatMap((text) =>
  [...text.matchAll(/^```\n(nodes[\s\S]*?)^```/gm)].map(([, block]) => block!),
)

it.each(examples)('%s', async (text) => {
  const { config, errors } = loadText({ name: 'example.conf', text }, {})
  expect(errors).toEqual([])
  expect(config.nodes.length).toBeGreaterThan(0)
  for (const node of config.nodes) {
    const settings = settingsOfNode(node)
    const type = await loadNodeType(node.type)
    type.parse(settings, commonOfNode(node))
    settings.done()
  }
})

it('has examples, and a section for each type of its table', () => {
  expect(examples.length).toBeGreaterThan(5)
  const types = [...page.matchAll(/^\| \[`(\w+)`\]\(#\w+\)/gm)].map(([, type]) => type!)
  expect(types.length).toBeGreaterThan(8)
  for (const type of types) {
    expect(nodeTypes).toHaveProperty([type])
    expect(page).toContain(`\n## ${type}\n`)
  }
})

it('has all types on one page or another', () => {
  const listed = [page, local, textOf('docs/guide/gateway-infiniband.md')].flatMap((text) =>
    [...text.matchAll(/^## ([a-z][\w.]*)$/gm)].map(([, name]) => name!),
  )
  expect(Object.keys(nodeTypes).filter((type) => !listed.includes(type) && type !== 'infiniband')).toEqual([])
})

it('says of all types that only VILLASnode has what to use instead', () => {
  const rows = moving
    .slice(moving.indexOf('## Refused'))
    .split('\n')
    .filter((row) => row.startsWith('| `'))
  const listed = rows.flatMap((row) => [...row.split('|')[1]!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!))
  expect(Object.keys(missingTypes).filter((type) => type !== 'example' && !listed.includes(type))).toEqual([])
})

it('names the packages that package.json has as optional peers', () => {
  const { peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    peerDependencies: Record<string, string>
  }
  const named = [...(page + hooks).matchAll(/`npm install (\w+)@(\d+)`/g)].map(([, name, major]) => [name!, major!])
  const majors = Object.entries(peerDependencies).map(([name, range]) => [name, /^\^(\d+)\./.exec(range)![1]!])
  expect(Object.fromEntries(named)).toEqual(Object.fromEntries(majors))
})

it('says what to use instead of nanomsg', async () => {
  expect(page).toContain('`nanomsg`')
  await expect(loadNodeType('nanomsg')).rejects.toThrow(/^the node-type nanomsg is not there: .*zeromq/)
})
