/** Opens a written report in Chromium: it loads without errors or requests, its charts can be seen, its table sorts. */

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { formatNs, loadResults, writeReport } from '../../src/report/index.ts'
import {
  largeRun,
  nodeRun,
  smallRun,
  socketRun,
  temporaryDirectory,
  throughputRun,
  writeLatencyRun,
} from '../report/synthetic.ts'
import { trafficRun } from '../report/synthetic-traffic.ts'
import { startBrowser, whyNoBrowser } from './chromium.ts'
import { faint } from './contrast.ts'

const disturbedMachine = {
  machine: { cpu: 'x', cores: 2, memoryBytes: 2 ** 30, os: 'x', load: 44.5, stolen: 0.2, permitted: {} },
}

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

describe.skipIf(whyNoBrowser)('report.html in a browser', () => {
  const directory = temporaryDirectory()
  let browser: Browser
  const reports: Record<string, string> = {}
  let large = ''

  beforeAll(async () => {
    const { path } = directory
    const small = smallRun(path)
    large = largeRun(path)
    const cases = {
      small: [small],
      large: [large],
      slow: [largeRun(path, 'slow', 400_000)],
      throughput: [throughputRun(path)],
      sockets: [socketRun(path)],
      nodes: [nodeRun(path)],
      traffic: [trafficRun(path)],
      'two traffics': [trafficRun(path, 'one'), trafficRun(path, 'two')],
      comparison: [small, smallRun(path, 'a-directory-with-quite-a-long-name-of-its-own', 1.2)],
      disturbed: [writeLatencyRun(path, 'disturbed', [{ settings: { size: 8 }, typicalNs: 900 }], disturbedMachine)],
    }
    for (const [name, dirs] of Object.entries(cases)) {
      reports[name] = pathToFileURL((await writeReport(dirs, join(path, `report-${name}`)))[0]!).href
    }
    browser = await startBrowser()
  }, 60_000)

  afterAll(async () => {
    await browser?.close()
    directory.remove()
  })

  interface Window {
    width?: number
    colours?: 'light' | 'dark'
    scripts?: boolean
  }

  /** Runs `look` on the open page, then asserts that nothing was complained about or asked for. */
  async function withPage(name: string, window: Window, look: (page: Page) => Promise<void>): Promise<void> {
    const { width = 1280, colours = 'light', scripts = true } = window
    const page = await browser.newPage({
      viewport: { width, height: 900 },
      colorScheme: colours,
      javaScriptEnabled: scripts,
    })
    const complaints: string[] = []
    const requests: string[] = []
    page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`))
    page.on('pageerror', (error) => complaints.push(String(error)))
    page.on('request', (request) => requests.push(request.url()))
    try {
      await page.goto(reports[name]!)
      if (scripts) await page.locator('html[data-ready]').waitFor()
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

  const all = [
    'small',
    'large',
    'slow',
    'throughput',
    'comparison',
    'sockets',
    'nodes',
    'traffic',
    'two traffics',
    'disturbed',
  ]
  /** Without scripts the page does nothing when its width changes: one that is open already is as a new one. */
  const windows: (Window & { widths: readonly number[] })[] = [
    { widths: [1280] },
    { widths: [390], colours: 'dark' },
    { widths: [1280, 390], scripts: false },
  ]

  describe.each(windows)('as %o', ({ widths, ...window }) => {
    it.each(all)(
      '%s: charts are visible, no text leaves its picture or lies on another, nothing overflows',
      async (name) => {
        await withPage(name, { ...window, width: widths[0]! }, async (page) => {
          // A click on each would wait for frames, of which this browser draws few.
          await page.locator('details').evaluateAll((all) => all.forEach((fold) => void fold.setAttribute('open', '')))
          for (const width of widths) {
            await page.setViewportSize({ width, height: 900 })
            const charts = await page.locator('figure .chart > svg, figure .plot svg').all()
            expect(charts.length).toBeGreaterThanOrEqual(name === 'disturbed' ? 1 : 2)
            for (const chart of charts) {
              expect(await chart.evaluate(textsOutside)).toEqual([])
              const box = await chart.boundingBox()
              expect(box!.width).toBeGreaterThan(300)
              expect(box!.height).toBeGreaterThan(80)
            }
            expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
          }
        })
      },
    )
  })

  it.each(['small', 'sockets', 'nodes', 'traffic', 'disturbed'])(
    '%s: text and marks stand out from what is behind them, light and dark',
    async (name) => {
      for (const colours of ['light', 'dark'] as const)
        await withPage(name, { colours }, async (page) => {
          expect(await page.evaluate(() => getComputedStyle(document.body).colorScheme)).toBe('light dark')
          expect(await page.locator('body').evaluate(faint)).toEqual([])
        })
    },
  )

  it('is dark or light as its switch says, charts too', async () => {
    await withPage('small', { colours: 'dark' }, async (page) => {
      const ink = () =>
        page
          .locator('#chart-histogram .plot text')
          .first()
          .evaluate((text) => getComputedStyle(text).fill)
      const card = () => page.locator('#chart-histogram .chart').evaluate((of) => getComputedStyle(of).backgroundColor)
      const [darkInk, darkCard] = [await ink(), await card()]
      await page.getByLabel('Colours').selectOption('light')
      expect([await ink(), await card()]).toEqual(['rgb(36, 41, 47)', 'rgb(255, 255, 255)'])
      await page.getByLabel('Colours').selectOption('dark')
      expect([await ink(), await card()]).toEqual([darkInk, darkCard])
      expect(darkInk).toBe('rgb(230, 233, 237)')
    })
  })

  it('is dark as a picture without scripts, too', async () => {
    await withPage('small', { colours: 'dark', scripts: false }, async (page) => {
      const text = page.locator('#chart-histogram .chart > svg text').first()
      expect(await text.evaluate((of) => getComputedStyle(of).fill)).toBe('rgb(230, 233, 237)')
    })
  })

  /** Pixels of a place in a chart's plot. */
  async function placeIn(page: Page, chart: string, x: number, y: number): Promise<[number, number]> {
    const plot = page.locator(`#chart-${chart} .plot`)
    await plot.scrollIntoViewIfNeeded()
    const box = (await plot.boundingBox())!
    return [box.x + box.width * x, box.y + box.height * y]
  }

  const tip = (page: Page, chart: string) => page.locator(`#chart-${chart} .tip`)

  it('shows the values under the pointer with their units', async () => {
    await withPage('large', {}, async (page) => {
      const { results } = loadResults(large)
      const [first] = results.sets
      if (!first || !('lat' in first)) throw new Error('a latency set was expected')
      // The first size, 8 bytes, is at the left.
      await page.mouse.move(...(await placeIn(page, 'medians', 0.1, 0.5)))
      await tip(page, 'medians').waitFor()
      const lines = await tip(page, 'medians').locator('.tip-row').allTextContents()
      expect(await tip(page, 'medians').locator('.tip-head').textContent()).toBe('message size 8 B')
      const { median, p10, p90 } = first.lat
      expect(lines[0]).toBe(`RC send${formatNs(median)}, ${formatNs(p10)} to ${formatNs(p90)}`)
      expect(lines).toHaveLength(6)
    })
    await withPage('small', {}, async (page) => {
      await page.mouse.move(...(await placeIn(page, 'histogram', 0.14, 0.2)))
      await tip(page, 'histogram').waitFor()
      expect(await tip(page, 'histogram').locator('.tip-head').textContent()).toMatch(/^\d+ ns to [\d,]+ ns$/)
      expect(await tip(page, 'histogram').locator('.tip-row').first().textContent()).toMatch(
        /^t_lat\d+\.\d+ % \(\d+ of 2,000\)$/,
      )
      await page.mouse.move(...(await placeIn(page, 'inline', 0.3, 0.3)))
      await tip(page, 'inline').waitFor()
      expect(await tip(page, 'inline').locator('.tip-row').first().textContent()).toMatch(/^stamp submit\d+ ns$/)
    })
    await withPage('throughput', {}, async (page) => {
      await page.mouse.move(...(await placeIn(page, 'throughput-batch', 0.09, 0.5)))
      await tip(page, 'throughput-batch').waitFor()
      expect(await tip(page, 'throughput-batch').textContent()).toMatch(
        /^messages in a batch 1.*3,444,444 messages\/s$/,
      )
    })
  })

  it('shows values to the keyboard', async () => {
    await withPage('large', {}, async (page) => {
      await page.locator('#chart-medians .plot').focus()
      await page.keyboard.press('ArrowRight')
      await page.keyboard.press('ArrowRight')
      await tip(page, 'medians').waitFor()
      expect(await tip(page, 'medians').locator('.tip-head').textContent()).toBe('message size 64 B')
      await page.keyboard.press('Escape')
      await tip(page, 'medians').waitFor({ state: 'hidden' })
    })
  })

  it('switches lines off and on in the legend', async () => {
    await withPage('large', {}, async (page) => {
      const lines = page.locator('#chart-medians .plot svg path[stroke="#0072b2"][stroke-width="2"]')
      expect(await lines.count()).toBeGreaterThan(0)
      const entry = page.locator('#chart-medians .legend button', { hasText: 'RC send' })
      await entry.click()
      expect(await entry.getAttribute('aria-pressed')).toBe('false')
      expect(await lines.count()).toBe(0)
      await entry.click()
      expect(await lines.count()).toBeGreaterThan(0)
      // Without any line there is nothing to show, and it says so.
      for (const one of await page.locator('#chart-medians .legend button').all()) await one.click()
      expect(await page.locator('#chart-medians .nothing').isVisible()).toBe(true)
      await entry.click()
      expect(await page.locator('#chart-medians .plot').isVisible()).toBe(true)
    })
  })

  /** The labels of a chart that are sizes, in the order of the axis. */
  const ticks = (page: Page, chart: string, unit: RegExp) =>
    page.locator(`#chart-${chart} .plot svg text`).evaluateAll(
      (texts, source) =>
        texts
          .filter((text) => new RegExp(source).test(text.textContent ?? ''))
          .map((text) => text.textContent)
          .filter((text, i, all) => all.indexOf(text) === i),
      unit.source,
    )

  it('zooms by dragging, with the wheel and with buttons, and goes back', async () => {
    await withPage('large', {}, async (page) => {
      const sizes = () => ticks(page, 'medians', /^[\d.]+ (B|KiB)$/)
      const before = await sizes()
      expect(before).toEqual(['8 B', '64 B', '512 B', '1020 B', '4 KiB', '8 KiB', '32 KiB'])
      const [from, to] = [await placeIn(page, 'medians', 0.4, 0.5), await placeIn(page, 'medians', 0.97, 0.5)]
      await page.mouse.move(...from)
      await page.mouse.down()
      await page.mouse.move(...to, { steps: 4 })
      expect(await page.locator('#chart-medians .brush').isVisible()).toBe(true)
      await page.mouse.up()
      expect(await sizes()).toEqual(['512 B', '1020 B', '4 KiB', '8 KiB', '32 KiB'])
      const button = (name: string) => page.locator('#chart-medians .tools button', { hasText: name })
      await button('Reset').click()
      expect(await sizes()).toEqual(before)
      await button('+').click()
      expect((await sizes()).length).toBeLessThan(before.length)
      await page.locator('#chart-medians .plot').dblclick({ position: { x: 500, y: 100 } })
      expect(await sizes()).toEqual(before)
      // The wheel scrolls the page, but not once the chart has the focus.
      await page.locator('#chart-medians .plot').click({ position: { x: 500, y: 100 } })
      await page.mouse.wheel(0, -500)
      await expect.poll(async () => (await sizes()).length).toBeLessThan(before.length)
    })
    await withPage('small', {}, async (page) => {
      const times = () => ticks(page, 'histogram', /^[\d.]+ [nµm]s$/)
      expect((await times()).at(-1)).toBe('10 µs')
      await page.locator('#chart-histogram .tools button', { hasText: 'All' }).click()
      expect((await times()).at(-1)).toMatch(/ ms$/)
      await page.locator('#chart-histogram .tools button', { hasText: 'Reset' }).click()
      expect((await times()).at(-1)).toBe('10 µs')
    })
  })

  it('switches between linear and logarithmic axes', async () => {
    await withPage('large', {}, async (page) => {
      const times = () => ticks(page, 'medians', /^[\d.]+ [nµ]s$/)
      expect(await times()).toEqual(['200 ns', '500 ns', '1 µs', '2 µs', '5 µs', '10 µs'])
      await page.locator('#chart-medians .tools button', { hasText: 'log y' }).click()
      expect(await times()).toEqual(expect.arrayContaining(['2 µs', '4 µs', '6 µs']))
      await page.locator('#chart-medians .tools button', { hasText: 'log x' }).click()
      expect(await ticks(page, 'medians', /^[\d.]+ (B|KiB)$/)).not.toContain('64 B')
      await page.locator('#chart-histogram .tools button', { hasText: 'log x' }).click()
      expect(await ticks(page, 'histogram', /^[\d.]+ [nµ]s$/)).toEqual(
        expect.arrayContaining(['200 ns', '1 µs', '10 µs']),
      )
    })
  })

  it('shows distribution functions and tails beside the histogram', async () => {
    await withPage('small', {}, async (page) => {
      const button = (name: string) => page.locator('#chart-histogram .tools button', { hasText: name })
      await button('CDF').click()
      expect(await button('CDF').getAttribute('aria-pressed')).toBe('true')
      expect(await button('Histogram').getAttribute('aria-pressed')).toBe('false')
      // Nearly all messages take less than 5 µs.
      await page.mouse.move(...(await placeIn(page, 'histogram', 0.53, 0.1)))
      await tip(page, 'histogram').waitFor()
      const [head, first] = [
        tip(page, 'histogram').locator('.tip-head'),
        tip(page, 'histogram').locator('.tip-row').first(),
      ]
      expect(await head.textContent()).toMatch(/^up to [45]\.\d+ µs$/)
      expect(await first.textContent()).toMatch(/^t_lat99\.\d+ % \(1,99\d of 2,000\)$/)
      await button('Tail').click()
      expect(await ticks(page, 'histogram', /%$/)).toEqual(expect.arrayContaining(['0.1 %', '1 %', '10 %', '100 %']))
      expect((await ticks(page, 'histogram', /^[\d.]+ [nµm]s$/)).at(-1)).toMatch(/ms$/)
    })
  })

  it('shows only the settings that are chosen, in charts and tables', async () => {
    await withPage('large', {}, async (page) => {
      const rows = page.locator('table#sets-table tbody tr:visible')
      expect(await rows.count()).toBe(42)
      await page.locator('#choice summary').click()
      const legends = await page.locator('#choice legend').allTextContents()
      expect(legends).toEqual(['service', 'op', 'size'])
      for (const name of ['UC', 'UD', 'write', '32 KiB'])
        await page.locator('#choice button', { hasText: new RegExp(`^${name}$`) }).click()
      expect(await rows.count()).toBe(6)
      expect(await ticks(page, 'medians', /^[\d.]+ (B|KiB)$/)).toEqual([
        '8 B',
        '64 B',
        '512 B',
        '1020 B',
        '4 KiB',
        '8 KiB',
      ])
      expect(
        await page.locator('#chart-histogram .plot svg text', { hasText: /^(RC|UC|UD) / }).allTextContents(),
      ).toEqual(['RC send'])
      // With the last one gone all are back.
      await page.locator('#choice button', { hasText: /^RC$/ }).click()
      expect(await page.locator('#chart-histogram .plot svg text', { hasText: /^(RC|UC|UD) / }).count()).toBe(3)
    })
  })

  it('has median, p90 and p99 in sight, the first column always, and the rest on demand', async () => {
    await withPage('large', { width: 390 }, async (page) => {
      const heads = page.locator('table#sets-table thead th:visible')
      expect(await heads.allTextContents()).toEqual(['set', 'median', 'p90', 'p99', 'p99.9', 'max', 'lost'])
      await page.locator('.table:has(#sets-table) .more').click()
      expect(await heads.allTextContents()).toEqual(
        expect.arrayContaining(['service', 'op', 'size', 'n', 'min', 'p10']),
      )
      const scroll = page.locator('.scroll:has(#sets-table)')
      const leftOf = async () => (await page.locator('table#sets-table tbody td:first-child').first().boundingBox())!.x
      const before = await leftOf()
      await scroll.evaluate((of) => of.scrollTo(300, 0))
      expect(await scroll.evaluate((of) => of.scrollLeft)).toBe(300)
      expect(Math.abs((await leftOf()) - before)).toBeLessThan(2)
    })
    await withPage('large', {}, async (page) => {
      const { x, width } = (await page.locator('.scroll:has(#sets-table)').boundingBox())!
      for (const name of ['median', 'p90', 'p99']) {
        const head = (await page.locator('table#sets-table th', { hasText: new RegExp(`^${name}$`) }).boundingBox())!
        expect(head.x + head.width).toBeLessThanOrEqual(x + width)
      }
    })
  })

  it('turns a surface with the pointer, keys and buttons, and shows the values of a point', async () => {
    for (const width of [390, 1200])
      await withPage('nodes', { width }, async (page) => {
        const plot = page.locator('#chart-surface-1 .plot')
        await plot.scrollIntoViewIfNeeded()
        const drawn = () => plot.locator('svg.surface').evaluate((svg) => svg.innerHTML)
        const [first, box] = [await drawn(), (await plot.boundingBox())!]
        await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
        await page.mouse.down()
        await page.mouse.move(box.x + box.width / 2 + 60, box.y + box.height / 2 + 20, { steps: 3 })
        await page.mouse.up()
        const dragged = await drawn()
        expect(dragged).not.toBe(first)
        await plot.focus()
        await page.keyboard.press('ArrowLeft')
        expect(await drawn()).not.toBe(dragged)
        await page.keyboard.press('Home')
        expect(await drawn()).toBe(first)
        const tools = page.locator('#chart-surface-1 .tools')
        for (const name of ['→', '↑', 'From above']) {
          await tools.getByRole('button', { name, exact: true }).click()
          expect(await plot.locator('svg.surface').evaluate(textsOutside)).toEqual([])
        }
        await tools.getByRole('button', { name: 'Reset' }).click()
        expect(await drawn()).toBe(first)
        const dot = (await plot.locator('circle').first().boundingBox())!
        await page.mouse.move(dot.x + dot.width / 2, dot.y + dot.height / 2)
        expect(await plot.locator('.tip-row').allTextContents()).toEqual([
          ...['rate100 Hz', 'values1', expect.stringMatching(/^median[\d.]+ µs \([\d,]+ ns\)$/), 'missed steps0 %'],
        ])
      })
  })

  it('shows of a surface what is chosen', async () => {
    await withPage('nodes', {}, async (page) => {
      const dots = page.locator('#chart-surface-1 .plot circle')
      expect(await dots.count()).toBe(12)
      await page.locator('#choice summary').click()
      const press = (name: string) => page.locator('#choice button', { hasText: new RegExp(`^${name}$`) }).click()
      await press('64')
      expect(await dots.count()).toBe(8)
      await press('RC')
      expect(await page.locator('#chart-surface-1 .nothing').isVisible()).toBe(true)
      expect(await page.locator('#chart-surface-2 .plot').isVisible()).toBe(true)
    })
  })

  it('says first that the machine was disturbed', async () => {
    await withPage('disturbed', { scripts: false }, async (page) => {
      const mark = page.locator('.headline + .disturbed')
      expect(await mark.textContent()).toBe(
        'Measured on a disturbed machine: load 44.5 on 2 cores at the start; 20.0 % of the time stolen by the host.',
      )
    })
  })

  it('enlarges the frame of a flame graph that is pressed, and goes back', async () => {
    await withPage('sockets', {}, async (page) => {
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
    await withPage('large', {}, async (page) => {
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
      expect((await columnOf(page, 1)).slice(0, 3)).toEqual([
        '000 RC send, size 8',
        '001 RC send, size 64',
        '002 RC send, size 512',
      ])
    })
  })
})
