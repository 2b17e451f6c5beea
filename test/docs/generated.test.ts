/** What is generated into docs/ is what the declarations say now, and reading the declarations misses nothing. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { Declarations, type Export } from '../../scripts/docs/declarations.ts'
import { generatedFiles, root } from '../../scripts/docs/generated.ts'

const folders = await generatedFiles()

it.each([...folders.keys()])('%s is up to date; if not: npm run docs', (folder) => {
  const files = folders.get(folder)!
  const path = join(root, folder)
  const there = existsSync(path) ? readdirSync(path).sort() : []
  expect(there).toEqual([...files.keys()].sort())
  const stale = there.filter((name) => readFileSync(join(path, name), 'utf8') !== files.get(name))
  expect(stale).toEqual([])
})

describe('declarations', () => {
  const folder = mkdtempSync(join(tmpdir(), 'verbena-declarations-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  function exportsOf(files: Record<string, string>): Export[] {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), text)
    }
    return new Declarations(folder).exportsOf('index.d.ts')
  }

  it('follows re-exports, renamed ones too, and a default export of what was imported', () => {
    const found = exportsOf({
      'index.d.ts': `
        import net, { isIP } from './net/index.ts'
        export * from './a.ts'
        export { type B as C } from './b.ts'
        export * as all from './b.ts'
        export { isIP }
        export default net`,
      'a.d.ts': 'export declare const one: 1\nexport { B } from "./b.ts"',
      'b.d.ts': '/** Of a b. */\nexport interface B { b: 2 }',
      'net/index.d.ts':
        'import { isIP } from "node:net"\nexport { isIP }\ndeclare const all: { c: 3 }\nexport default all',
    })
    expect(found.map(({ name, kind, from }) => `${name}: ${kind} of ${from}`)).toEqual([
      'B: type of b.d.ts',
      'C: type of b.d.ts',
      'all: namespace of b.d.ts',
      'default: constant of net/index.d.ts',
      'isIP: constant of node:net',
      'one: constant of a.d.ts',
    ])
    expect(found[1]!.declarations).toEqual([{ comment: 'Of a b.', code: 'interface B { b: 2 }' }])
  })

  it('shows overloads with their comments, and no members that are not public', () => {
    const found = exportsOf({
      'index.d.ts': `
/** One. */
export declare function f(a: 1): void;
/**
 * Two −
 * lines.
 */
export declare function f(a: 2): void;
export declare class C {
    #private;
    /** Hidden. */
    private a;
    /** Shown. */
    b: number;
    protected c(): void;
}
export declare const E: { readonly A: 1 };
export type E = (typeof E)[keyof typeof E];
`,
    })
    expect(found.map(({ declarations }) => declarations)).toEqual([
      [{ comment: '', code: 'class C {\n  /** Shown. */\n  b: number;\n}' }],
      [{ comment: '', code: 'const E: { readonly A: 1 };' }],
      [
        { comment: 'One.', code: 'function f(a: 1): void;' },
        { comment: 'Two −\nlines.', code: 'function f(a: 2): void;' },
      ],
    ])
  })
})
