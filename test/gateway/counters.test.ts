/** Names of counters: all in one way, as they appear in the API, in metrics and in logs. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { newCounters } from '../../src/gateway/nodes/infiniband/counters.ts'
import { NodeCount, PathCount } from '../../src/gateway/runtime/counts.ts'

const nodes = join(import.meta.dirname, '../../src/gateway/nodes')
const files = readdirSync(nodes, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
const counted = files.flatMap((file) => {
  const code = readFileSync(join(nodes, file), 'utf8')
  return [...code.matchAll(/[cC]ounters\.(?:add|warn)\(\s*'([^']*)'/g)].map(([, name]) => name!)
})

it('small letters, with _ between words', () => {
  expect(counted.length).toBeGreaterThan(30)
  const names = [...counted, ...[NodeCount, PathCount, newCounters()].flatMap((counts) => Object.keys(counts))]
  expect(names.filter((name) => !/^[a-z]+(_[a-z]+)*$/.test(name))).toEqual([])
})
