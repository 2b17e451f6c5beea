/** docs/guide/collectives.md, measured rules: the command measures what the page shows, in the order of the medians. */
import { Command } from 'commander'
import { expect, it } from 'vitest'
import { Chooser } from '../../src/collectives/choose.ts'
import type { GivenOptions } from '../../src/tools/bench-kit/index.ts'
import { configure } from '../../src/tools/collective/measure.ts'
import { parseAlgorithmLists, planAlgorithms } from '../../src/tools/collective/settings.ts'
import { textOf } from './markdown.ts'

const page = textOf('docs/guide/collectives.md')

it('has a row for each step of its command, with all algorithms, the default marked', async () => {
  const options = /verbena collective measure( --.*)$/m.exec(page)![1]!.trim().split(' ')
  const command = new Command('measure')
  configure(command)
  let lists = parseAlgorithmLists({})
  command.action((given: GivenOptions) => {
    lists = parseAlgorithmLists(given)
  })
  await command.parseAsync(options, { from: 'user' })
  const steps = [
    ...planAlgorithms(lists, { device: 'shm', ranks: 2, repetitions: 1, noMulticast: '' }).steps.values(),
  ].flat()
  const rows = [...page.matchAll(/^(\w+) +2 +(\d+) {2}([a-z-]+\*? [\d.]+, .*)$/gm)]
  expect(rows.map(([, collective, size]) => [collective, Number(size)])).toEqual(
    steps.map(([set]) => [set!.settings.collective, set!.settings.size]),
  )
  for (const [i, [, collective, size, list]] of rows.entries()) {
    const found = [...list!.matchAll(/([a-z-]+)(\*?) ([\d.]+)/g)]
    const names = found.map(([, name]) => name)
    expect(names.toSorted()).toEqual(steps[i]!.map(({ settings }) => settings.algorithm).toSorted())
    const standard = new Chooser(2).choose(steps[i]![0]!.settings.collective, Number(size))
    expect(
      found.filter(([, , star]) => star).map(([, name]) => name),
      collective,
    ).toEqual([standard])
    const times = found.map(([, , , time]) => Number(time))
    expect(times).toEqual(times.toSorted((a, b) => a - b))
  }
})
