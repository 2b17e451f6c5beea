/** Relative links of all pages lead to files and headings that exist, and every page of docs/ can be reached from its index. */
import { existsSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, it } from 'vitest'
import { anchorsOf, linksOf, pages, root, textOf } from './markdown.ts'

const texts = new Map(pages.map((page) => [page, textOf(page)]))

describe('what is read of Markdown', () => {
  it('headings have the names that GitHub gives them', () => {
    const text = '# A run\n## Who *drives* it?\n### `verbena/net`: [sockets](x.md)\n# A run\n```sh\n# no heading\n```\n'
    expect([...anchorsOf(text)]).toEqual(['a-run', 'who-drives-it', 'verbenanet-sockets', 'a-run-1'])
  })

  it('links and pictures, but not those of other sites or in code', () => {
    const text = '[a](b.md#c) ![d](../e.svg) [`f`](#g) [h](https://example.org)\n```\n[i](j.md)\n```\n'
    expect(linksOf(text)).toEqual([
      { path: 'b.md', anchor: 'c' },
      { path: '../e.svg', anchor: '' },
      { path: '', anchor: 'g' },
    ])
  })
})

it.each(pages)('the links of %s', (page) => {
  const wrong = linksOf(texts.get(page)!).filter(({ path, anchor }) => {
    const target = path === '' ? page : normalize(join(dirname(page), path))
    if (!existsSync(join(root, target))) return true
    if (anchor === '') return false
    return statSync(join(root, target)).isDirectory() || !anchorsOf(texts.get(target) ?? '').has(anchor)
  })
  expect(wrong.map(({ path, anchor }) => (anchor ? `${path}#${anchor}` : path))).toEqual([])
})

it('every page of docs/ can be reached from docs/README.md', () => {
  const reached = new Set(['docs/README.md'])
  for (const page of reached)
    for (const { path } of linksOf(texts.get(page) ?? '')) {
      const target = normalize(join(dirname(page), path))
      if (target.startsWith('docs/') && texts.has(target)) reached.add(target)
    }
  expect(pages.filter((page) => page.startsWith('docs/') && !reached.has(page))).toEqual([])
})
