/** docs/guide/bench-collective.md: its commands are right, its names are those of the command. */
import { Command } from 'commander'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { placeOf } from '../../src/collectives/launch/index.ts'
import { configure } from '../../src/tools/bench-collective/command.ts'
import { measures, modes, parseCollectiveLists, transports } from '../../src/tools/bench-collective/settings.ts'
import type { GivenOptions } from '../../src/tools/bench-kit/index.ts'
import { textOf } from './markdown.ts'

const page = textOf('docs/guide/bench-collective.md')
const commands = [...page.matchAll(/verbena bench collective( --.*)$/gm)].map(([, options]) => options!.trim())

it('has commands that the command understands', async () => {
  expect(commands.length).toBeGreaterThan(4)
  for (const options of commands) {
    const command = new Command('collective')
    configure(command)
    let given: GivenOptions = {}
    command.action((parsed: GivenOptions) => {
      given = parsed
    })
    await command.parseAsync(options.split(/ +/), { from: 'user' })
    expect(parseCollectiveLists(given, 8).size.length, options).toBeGreaterThan(0)
  }
})

it('names all transports, modes and measures', () => {
  for (const name of [...transports, ...modes, ...measures]) expect(page, name).toContain(`\`${name}\``)
})

it('says what --json has', () => {
  const [, text] = /^```json\n([\s\S]*?)```/m.exec(page)!
  const { runs, unit } = JSON.parse(text!)
  expect(unit).toBe('ns')
  expect(Object.keys(runs[0])).toEqual(['settings', 'time', 'lost'])
  expect(Object.keys(runs[0].time)).toEqual(['count', 'min', 'mean', 'median', 'p90', 'p99', 'max'])
})

it('the pods of the manifest find pod 0', () => {
  const [service, job] = textOf('examples/kubernetes/collective.yaml')
    .split(/^---$/m)
    .map((text) => parse(text))
  const { spec, metadata } = job
  const [container] = spec.template.spec.containers
  const env = Object.fromEntries(container.env.map(({ name, value }: Record<string, string>) => [name, value]))
  const place = placeOf({ environment: { ...env, JOB_COMPLETION_INDEX: '3' } })
  expect(place).toMatchObject({ rank: 3, size: spec.completions, launcher: 'Kubernetes' })
  // A pod of an indexed job is NAME-INDEX.SUBDOMAIN, where the subdomain is that of a headless service.
  expect(place.host).toBe(`${metadata.name}-0.${spec.template.spec.subdomain}`)
  expect(spec).toMatchObject({ completionMode: 'Indexed', parallelism: spec.completions })
  expect([service.metadata.name, service.spec.clusterIP]).toEqual([spec.template.spec.subdomain, 'None'])
  expect(service.spec.selector).toEqual({ 'job-name': metadata.name })
})
