/** Opens a written report in Chromium: it loads without errors or requests, its charts can be seen, its table sorts. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeReport } from '../../src/report/index.ts'
import { largeRun, smallRun, socketRun, temporaryDirectory, throughputRun } from '../report/synthetic.ts'

const CHROMIUM = '/usr/bin/chromium'
const ARGS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
]

const found = existsSync(CHROMIUM)
if (!found)
  console.warn(`skipped: the pages cannot be tested without ${CHROMIUM} (on Debian: apt-get install chromium)`)

/** Texts of a picture that leave it, or that lie on another one. */
function textsOutside(svg: SVGElement | HTMLElement): string[] {
  const frame = svg.getBoundingClientRect()
  const texts = [...svg.querySelectorAll('text')].map((text) => ({
    text: text.textContent ?? '',
    box: text.getBoundingClientRect(),
  }))
  const inside = ({ box }: { box: DOMRect }): boolean =>
    box.left >= frame.left - 1 && box.right <= frame.right + 1 && box.bottom <= frame.bottom + 1
  const apart = (a: DOMRect, b: DOMRect): boolean =>
    a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 4 || b.bottom <= a.top + 4
  return texts
    .filter((one, i) => !inside(one) || texts.some(({ box }, k) => k < i && !apart(box, one.box)))
    .map(({ text }) => text)
}

describe.skipIf(!found)('report.html in a browser', () => {
  const directory = temporaryDirectory()
  let browser: Browser
  const reports: Record<string, string> = {}

  beforeAll(async () => {
    const { path } = directory
    const small = smallRun(path)
    const cases = {
      small: [small],
      large: [largeRun(path)],
      slow: [largeRun(path, 'slow', 400_000)],
      throughput: [throughputRun(path)],
      sockets: [socketRun(path)],
      comparison: [small, smallRun(path, 'a-directory-with-quite-a-long-name-of-its-own', 1.2)],
    }
    for (const [name, dirs] of Object.entries(cases)) {
      reports[name] = pathToFileURL(writeReport(dirs, join(path, `report-${name}`))[0]!).href
    }
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGS })
  }, 60_000)

  afterAll(async () => {
    await browser?.close()
    directory.remove()
  })

  /** Runs `look` on the open page, then asserts that nothing was complained about or asked for. */
  async function withPage(name: string, width: number, look: (page: Page) => Promise<void>): Promise<void> {
    const page = await browser.newPage({
      viewport: { width, height: 900 },
      colorScheme: width < 600 ? 'dark' : 'light',
    })
    const complaints: string[] = []
    const requests: string[] = []
    page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`))
    page.on('pageerror', (error) => complaints.push(String(error)))
    page.on('request', (request) => requests.push(request.url()))
    try {
      await page.goto(reports[name]!)
      await look(page)
      expect(complaints).toEqual([])
      expect(requests.filter((url) => !url.startsWith('data:'))).toEqual([reports[name]])
    } finally {
      await page.close()
    }
  }

  const columnOf = (page: Page, index: number): Promise<(string | null)[]> =>
    page
      .locator(`table#sets-table tbody tr td:nth-child(${index})`)
      .evaluateAll((cells) => cells.map((cell) => cell.textContent))

  for (const width of [1280, 400]) {
    it.each(['small', 'large', 'slow', 'throughput', 'comparison', 'sockets'])(
      `%s: charts are visible, nothing overflows at ${width} pixels`,
      async (name) => {
        await withPage(name, width, async (page) => {
          for (const fold of await page.locator('summary').all()) await fold.click()
          const charts = await page.locator('figure svg:not(.frame, .frames)').all()
          expect(charts.length).toBeGreaterThanOrEqual(2)
          for (const chart of charts) expect(await chart.evaluate(textsOutside)).toEqual([])
          for (const chart of charts) {
            const box = await chart.boundingBox()
            expect(box!.width).toBeGreaterThan(300)
            expect(box!.height).toBeGreaterThan(100)
          }
          expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
        })
      },
    )
  }

  it.each(['small', 'large', 'slow', 'throughput', 'comparison'])(
    '%s: no text of a chart leaves its picture',
    async (name) => {
      await withPage(name, 1280, async (page) => {
        for (const fold of await page.locator('summary').all()) await fold.click()
        const outside = await page.locator('figure svg').evaluateAll((charts) =>
          charts.flatMap((chart) => {
            const frame = chart.getBoundingClientRect()
            return [...chart.querySelectorAll('text')]
              .filter((text) => {
                const box = text.getBoundingClientRect()
                return (
                  box.left < frame.left || box.right > frame.right || box.top < frame.top || box.bottom > frame.bottom
                )
              })
              .map((text) => text.textContent)
          }),
        )
        expect(outside).toEqual([])
      })
    },
  )

  it('enlarges the frame of a flame graph that is pressed, and goes back', async () => {
    await withPage('sockets', 1280, async (page) => {
      const graph = page.locator('#chart-flame-025-client svg.flame')
      const widths = () =>
        graph.locator('svg.frame').evaluateAll((frames) =>
          frames.map((frame) => {
            const rect = frame.querySelector('rect')!.getBoundingClientRect()
            return Math.round(rect.width)
          }),
        )
      const before = await widths()
      const [whole = 0] = before
      expect(before.map((width) => width / whole)).toEqual(
        [1, 0.95, 0.4, 0.15].map((share) => expect.closeTo(share, 1)),
      )
      await graph.locator('svg.frame', { hasText: /^post/ }).click()
      // Its callers are as wide as it is, and what lies beside it is gone.
      expect(await widths()).toEqual([whole, whole, 0, whole])
      await graph.locator('svg.frame').first().click()
      expect(await widths()).toEqual(before)
    })
  })

  it('sorts the table by the heading that is pressed, and back', async () => {
    await withPage('large', 1280, async (page) => {
      const heads = await page.locator('table#sets-table thead th').allTextContents()
      const median = heads.indexOf('median') + 1
      const numbers = async () => (await columnOf(page, median)).map((text) => Number(text!.replaceAll(',', '')))
      const before = await numbers()
      const button = page.locator(`table#sets-table thead th:nth-child(${median}) button`)
      await button.click()
      expect(await numbers()).toEqual(before.toSorted((a, b) => a - b))
      expect(await page.locator('table#sets-table th[aria-sort="ascending"]').textContent()).toBe('median')
      await button.click()
      expect(await numbers()).toEqual(before.toSorted((a, b) => b - a))
      await page.locator('table#sets-table thead th:nth-child(1) button').focus()
      await page.keyboard.press('Enter')
      expect((await columnOf(page, 1)).slice(0, 3)).toEqual(['000', '001', '002'])
    })
  })
})
