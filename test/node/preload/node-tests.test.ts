/** The list of Node's own tests that fail under the preload: each has its reason, and the reason its page. */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = new URL('../../../', import.meta.url)
const list = JSON.parse(readFileSync(new URL('test/node/node-tests.json', root), 'utf8'))

/** The anchor that a heading has on a page. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')

it('every test of the list has a reason, and every reason a page that has the heading', () => {
  for (const [test, reason] of Object.entries(list.known as Record<string, string>))
    expect(list.reasons, `${test}: ${reason}`).toHaveProperty(reason)
  for (const { text, page } of Object.values(list.reasons as Record<string, { text: string; page: string }>)) {
    expect(text).not.toBe('')
    const [file = '', anchor] = page.split('#')
    const path = fileURLToPath(new URL(file, root))
    expect(existsSync(path), page).toBe(true)
    const headings = [...readFileSync(path, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading!))
    expect(headings, page).toContain(anchor)
  }
})

it('no reason is without a test, and the last run has its day and its commit', () => {
  expect(new Set(Object.values(list.known))).toEqual(new Set(Object.keys(list.reasons)))
  expect(list.lastRun.date).toMatch(/^\d{4}-\d\d-\d\d$/)
  expect(list.lastRun.commit).toMatch(/^[0-9a-f]{40}$/)
})
