/** The imports of src/ and bench/ keep to layers.json, and docs/internals/layers.md shows what it says. */
import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  circles,
  draw,
  graphOf,
  impurities,
  type Layers,
  layerCircles,
  leftovers,
  ranks,
  readLayers,
  readSources,
  violations,
  withDrawing,
} from './layers.ts'

const root = new URL('../../', import.meta.url)
const layers = readLayers(new URL('layers.json', root))
const graph = graphOf(readSources(root))

describe('src/ and bench/', () => {
  it('every import is one that layers.json allows, through a door', () => expect(violations(layers, graph)).toEqual([]))
  it('pure layers reach no node: module and no package', () => expect(impurities(layers, graph)).toEqual([]))
  it('no files import each other in a circle, types included', () => expect(circles(graph)).toEqual([]))
})

describe('layers.json', () => {
  it('has no circle', () => expect(layerCircles(layers)).toEqual([]))
  it('allows nothing that no file uses', () => expect(leftovers(layers, graph)).toEqual([]))

  it('is what docs/internals/layers.md shows (npm run architecture draws it)', () => {
    const file = new URL('docs/internals/layers.md', root)
    const text = readFileSync(file, 'utf8')
    if (process.env.VERBENA_DRAW) writeFileSync(file, withDrawing(text, layers))
    else expect(text).toBe(withDrawing(text, layers))
  })
})

describe('the check', () => {
  const small: Layers = {
    '.': { is: 'entry points', imports: ['top/*'] },
    'top/*': { is: 'programs', imports: ['middle'], packages: ['ws'] },
    middle: { is: 'a library', imports: ['type low'], pure: true },
    low: { is: 'the ground', imports: [], doors: ['index.ts', 'door.ts'] },
    bench: { is: 'beside src/', imports: ['middle', 'low'] },
  }
  const check = (files: Record<string, string>) => graphOf(new Map(Object.entries({ ...sound, ...files })))
  const sound = {
    'index.ts': `export * from './top/a/index.ts'`,
    'top/a/index.ts': `import { WebSocket } from 'ws'\nimport { middle } from '../../middle/index.ts'`,
    'top/b/index.ts': 'export {}',
    'middle/index.ts': `import type { Low } from '../low/door.ts'\nexport const middle = 1`,
    'low/index.ts': `import 'node:fs'`,
    'low/door.ts': `import './index.ts'`,
    'low/inside.ts': 'export {}',
    'bench/main.ts': `import '../src/middle/index.ts'\nimport '../src/low/index.ts'`,
  }

  it('finds nothing in sound sources', () => {
    const found = check({})
    expect([violations(small, found), impurities(small, found), circles(found), leftovers(small, found)]).toEqual([
      [],
      [],
      [],
      [],
    ])
  })

  it.each([
    ['a folder that is not listed', { 'other/x.ts': '' }, 'other/x.ts: layers.json has no layer for this folder'],
    [
      'an import upwards',
      { 'low/x.ts': `import '../middle/index.ts'` },
      'low/x.ts: low may not import middle (middle/index.ts)',
    ],
    [
      'an import past the door',
      { 'middle/x.ts': `import type { A } from '../low/inside.ts'` },
      'middle/x.ts: low/inside.ts is not a door of low',
    ],
    [
      'a value where types are allowed',
      { 'middle/x.ts': `export { a } from '../low/index.ts'` },
      'middle/x.ts: middle may not import low (low/index.ts)',
    ],
    [
      'one program in another',
      { 'top/b/x.ts': `await import('../a/index.ts')` },
      'top/b/x.ts: top/b may not import top/a (top/a/index.ts)',
    ],
    [
      'an import of bench/',
      { 'low/x.ts': `import '../../bench/main.ts'` },
      'low/x.ts: low may not import bench (bench/main.ts)',
    ],
    [
      'a package',
      { 'middle/x.ts': `import '@scope/name/deep'` },
      'middle/x.ts: middle may not import the package @scope/name',
    ],
    [
      'a file that is not there',
      { 'middle/x.ts': `import type { A } from '../low/gone.ts'` },
      'middle/x.ts: low/gone.ts is no file of a layer',
    ],
  ])('finds %s', (_title, files, sentence) => expect(violations(small, check(files))).toEqual([sentence]))

  it('lets a friend past the door', () => {
    const files = check({ 'middle/x.ts': `import type { A } from '../low/inside.ts'` })
    expect(violations({ ...small, low: { ...small.low!, friends: ['middle'] } }, files)).toEqual([])
  })

  it('finds what makes a layer impure, however indirect', () => {
    const files = { 'middle/index.ts': `export * from './x.ts'`, 'middle/x.ts': `import '../low/index.ts'` }
    expect(impurities(small, check(files))).toEqual(['middle is not pure: middle/x.ts > low/index.ts > node:fs'])
  })

  it('finds circles of types, and leaves dynamic imports alone', () => {
    const circle = { 'low/a.ts': `import type { B } from './b.ts'`, 'low/b.ts': `export { a } from './a.ts'` }
    expect(circles(check(circle))).toEqual([['low/a.ts', 'low/b.ts']])
    expect(circles(check({ ...circle, 'low/a.ts': `await import('./b.ts')` }))).toEqual([])
    expect(layerCircles({ ...small, low: { is: 'the ground', imports: ['top/*'] } })).toEqual([
      ['low', 'middle', 'top/*'],
    ])
  })

  it('finds permissions that nothing uses', () => {
    const generous = {
      ...small,
      low: { is: 'the ground', imports: [], packages: ['ws'] },
      gone: { is: 'nothing', imports: ['low'] },
    }
    expect(leftovers(generous, check({}))).toEqual([
      'low does not import the package ws',
      'gone has no file',
      'gone does not import low',
    ])
  })

  it('knows one program by its name', () => {
    const layers = { ...small, start: { is: 'above the programs', imports: ['top/a'] } }
    const found = check({ 'start/index.ts': `import '../top/a/index.ts'` })
    expect([violations(layers, found), leftovers(layers, found), layerCircles(layers)]).toEqual([[], [], []])
    expect(ranks(layers).slice(0, 2)).toEqual([
      ['.', 'start'],
      ['top/*', 'bench'],
    ])
    expect(violations(layers, check({ 'start/index.ts': `import '../top/b/index.ts'` }))).toEqual([
      'start/index.ts: start may not import top/b (top/b/index.ts)',
    ])
    const inward = { ...small, 'top/*': { ...small['top/*']!, imports: ['middle', 'top/a'] } }
    expect(leftovers(inward, check({}))).toEqual(['top/* imports top/a, which is no other layer'])
  })

  it('draws each layer above what it imports', () => {
    expect(ranks(small)).toEqual([['.'], ['top/*', 'bench'], ['middle'], ['low']])
    expect(draw(small)).toContain('| `middle` | a library. *Pure* | types of low |')
  })
})
