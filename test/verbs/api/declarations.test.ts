/** What the package shows of the verbs: no internals at the front door, and a hover text for each member of the declarations. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import * as frontDoor from '../../../src/index.ts'
import * as verbs from '../../../src/verbs/index.ts'
import * as provider from '../../../src/verbs/provider/index.ts'

const declarations = new URL('../../../dist/types/verbs/', import.meta.url)
const read = (file: string): string => readFileSync(new URL(`${file}.d.ts`, declarations), 'utf8')

it('exports nothing at the front door that only devices need', () => {
  const internal = Object.keys(provider).filter((name) => !(name in verbs))
  expect(internal).toContain('Host')
  for (const name of [...internal, 'processHost', 'reapDead', 'reapOwn', 'segmentOptions'])
    expect(frontDoor).not.toHaveProperty(name)
})

it('declares no internals of the objects', () => {
  const text = read('api/objects').replaceAll(/\/\*\*.*?\*\//gs, '')
  expect(text).toContain('createQp<')
  expect(text).not.toMatch(
    /^ +(readonly )?(device|slot|word|pdRef|adopt|disown|attached|detached|copyTo|assertOpen)\b.*[;:]/m,
  )
})

/** Members of interfaces and classes, and exports, that no comment stands above. */
function undocumented(text: string): string[] {
  const missing: string[] = []
  let owner = ''
  let documented = false
  for (const line of text.replaceAll(/\/\*\*.*?\*\//gs, '/**/').split('\n')) {
    const top = /^export (?:declare )?(interface|class|function|const) (\w+)/.exec(line)
    const member = /^ {4}(?:readonly |static )?(\w+)(?:<.*>)?\??[(:]/.exec(line)?.[1]
    if (top) owner = top[1] === 'interface' || top[1] === 'class' ? top[2]! : ''
    if (top && !documented) missing.push(top[2]!)
    if (owner !== '' && member !== undefined && member !== 'constructor' && !documented)
      missing.push(`${owner}.${member}`)
    if (line === '}') owner = ''
    documented = line.trim() === '/**/'
  }
  return missing
}

it.each([
  'api/objects',
  'api/builder',
  'api/connect',
  'provider/work-completion',
  'provider/attributes',
  'provider/constants',
  'provider/device',
  'provider/errors',
  'provider/work-request',
])('%s: every member has a hover text', (file) => {
  expect(undocumented('export interface X {\n    /** Text. */\n    a: number\n    b: number\n}')).toEqual(['X', 'X.b'])
  expect(undocumented(read(file))).toEqual([])
})
