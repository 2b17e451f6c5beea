/** docs/reference/channels.md and the sources have the same channels, fields and reasons. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fallbackReasons } from '../../src/node/preload/fallback.ts'
import { EventType, WcStatus } from '../../src/verbs/index.ts'
import { qpFailures, retransmitReasons } from '../../src/verbs/provider/news.ts'
import { root, textOf } from './markdown.ts'

const page = textOf('docs/reference/channels.md')
const sectionOf = (name: string): string => page.split(/^## /m).find((section) => section.startsWith(`\`${name}\``))!
/** The first column of the `index`th table of a section. */
const rowsOf = (name: string, index: number): string[] =>
  (sectionOf(name).match(/(?:^\|.*\n)+/gm)![index] ?? '')
    .split('\n')
    .slice(2, -1)
    .map((row) => row.split('|')[1]!.trim())
const namesIn = (text: string): string[] => [...text.matchAll(/`([\w-]+)`/g)].map(([, name]) => name!)

/** The fields of an interface, as its source has them. */
function fieldsOf(file: string, name: string): string[] {
  const [, body] = new RegExp(`interface ${name} \\{\\n([\\s\\S]*?)^\\}`, 'm').exec(textOf(file))!
  return [...body!.matchAll(/^ {2}(\w+)\??:/gm)].map(([, field]) => field!)
}

const verbs = 'src/verbs/api/channels.ts'
const channels = {
  'verbena:qp:error': fieldsOf(verbs, 'QpErrorMessage'),
  'verbena:qp:retransmit': fieldsOf(verbs, 'QpRetransmitMessage'),
  'verbena:net:fallback': fieldsOf('src/node/preload/fallback.ts', 'FallbackMessage'),
}

it('the page has every channel of the sources, and no other', () => {
  const files = (readdirSync(join(root, 'src'), { recursive: true }) as string[]).filter((file) => file.endsWith('.ts'))
  const used = files.flatMap((file) =>
    [...readFileSync(join(root, 'src', file), 'utf8').matchAll(/channel\('(verbena:[^']+)'\)/g)].map(
      ([, name]) => name!,
    ),
  )
  expect(used.sort()).toEqual(Object.keys(channels).sort())
  expect([...page.matchAll(/^## `(verbena:[^`]+)`$/gm)].map(([, name]) => name!).sort()).toEqual(used)
})

describe.each(Object.entries(channels))('%s', (name, fields) => {
  it('has these fields', () => {
    expect(fields.length).toBeGreaterThan(3)
    expect(rowsOf(name, 0)).toEqual(fields.map((field) => `\`${field}\``))
  })
})

it('reasons are those of the sources', () => {
  expect(rowsOf('verbena:qp:retransmit', 1).flatMap(namesIn)).toEqual([...retransmitReasons])
  expect(rowsOf('verbena:net:fallback', 1).flatMap(namesIn)).toEqual([...fallbackReasons])
  const failures = rowsOf('verbena:qp:error', 1).flatMap(namesIn)
  expect(failures.filter((name) => !(name in WcStatus) && !(name in EventType) && name !== 'WcStatus')).toEqual([
    ...qpFailures,
  ])
})
