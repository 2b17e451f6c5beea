/** A sample costs no allocation on its way: generator, hooks of a node, path, loopback, another path, file. In one thread. */
import { expect, it } from 'vitest'
import { checkSettings } from '../../src/gateway/load/index.ts'
import { makePool } from '../../src/gateway/nodes/index.ts'
import { newControl } from '../../src/gateway/runtime/control.ts'
import { Counts } from '../../src/gateway/runtime/counts.ts'
import { Group } from '../../src/gateway/runtime/group.ts'
import { Members } from '../../src/gateway/runtime/members.ts'
import type { GroupData } from '../../src/gateway/runtime/messages.ts'
import { makePlan } from '../../src/gateway/runtime/plan.ts'
import { leastGrowth } from '../heap.ts'

const samples = 50_000
/** The smallest object for each sample would be four times this. */
const allowedBytes = 4 * samples

it('a sample allocates nothing between its source and its destination', async () => {
  const { config, errors } = checkSettings({
    nodes: {
      source: { type: 'signal', signal: 'sine', values: 4, realtime: false },
      loop: { type: 'loopback' },
      sink: { type: 'file', uri: '/dev/null', format: 'villas.binary' },
    },
    // Joined in one thread by a third path that reads both; it mixes, and its hook changes a copy.
    paths: [
      { in: 'source', out: 'loop' },
      { in: 'loop', out: 'sink' },
      { in: ['source.data[0-1]', 'loop'], hooks: [{ type: 'scale', signal: 'sine', scale: 2 }] },
    ],
  })
  expect(errors).toEqual([])
  const plan = await makePlan(config)
  expect(plan.groups).toHaveLength(1)
  const [group] = plan.groups
  const { share } = await makePool(plan.poolSize, plan.values, undefined)
  const control = newControl()
  const data: GroupData = {
    nodes: group!.nodes.map((node) => ({
      ...node,
      shared: plan.nodes.get(node.config.name)!.parsed.share?.(),
      watch: null,
    })),
    paths: group!.paths,
    pool: share,
    control: control.buffer as SharedArrayBuffer,
    counts: new Counts(group!.nodes.length + group!.paths.length).buffer,
    epochNs: 0,
    statistics: {},
    affinity: 0,
  }
  const members = await Members.start(data, {
    log: () => {},
    wake: () => {},
    finished: () => {},
    isStopping: () => false,
    failed: (node, error) => {
      throw new Error(`${node}: ${error.message}`)
    },
  })
  const { readers, writers, paths, repeaters, needsTurns } = members
  const loop = new Group(control, {
    ...{ readers, writers, paths, repeaters, needsTurns },
    periodic: () => {},
    ended: () => {},
  })
  loop.choose()
  const run = (): void => {
    for (let read = 0; read < samples; ) read += loop.round()
  }
  for (let i = 0; i < 4; i++) run()
  const least = leastGrowth(run, allowedBytes)
  const counts = new Counts(6, data.counts).values
  expect(counts[0]).toBeGreaterThan(samples)
  await members.stop()
  expect(least).toBeLessThan(allowedBytes)
})
