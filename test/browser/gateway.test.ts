/** The gateway's live page in Chromium: nodes with rates, signals plotted as they come, light, dark and narrow. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Api, startApi } from '../../src/gateway/api/index.ts'
import { checkSettings } from '../../src/gateway/load/index.ts'
import { SuperNode } from '../../src/gateway/runtime/index.ts'
import { startBrowser, whyNoBrowser } from './chromium.ts'

const token = 'a-token-of-some-length'
const settings = {
  name: 'lab',
  nodes: {
    grid: {
      type: 'signal',
      signal: 'mixed',
      rate: 200,
      in: { signals: ['voltage', 'current', 'power'].map((name, i) => ({ name, unit: 'VAW'[i] })) },
      values: 3,
    },
    loop: { type: 'loopback' },
    unread: { type: 'loopback', queuelen: 1 },
  },
  paths: [
    { in: 'grid', out: 'loop', hooks: [{ type: 'scale', signal: 'voltage', scale: 2 }] },
    { in: 'loop', out: 'unread' },
  ],
}

describe.skipIf(whyNoBrowser)('the live page', { timeout: 60_000 }, () => {
  let browser: Browser
  let gateway: SuperNode
  let api: Api
  beforeAll(async () => {
    const { config, errors } = checkSettings(settings)
    expect(errors).toEqual([])
    gateway = await SuperNode.parse(config, { watched: true })
    await gateway.start()
    const http = { enabled: true, port: 0, host: '127.0.0.1', token, open: false, tls: null }
    api = await startApi(gateway, http, { version: '1.2.3', shutdown: () => {} })
    browser = await startBrowser()
  }, 60_000)
  afterAll(async () => {
    await browser?.close()
    await api?.close()
    await gateway?.stop()
  })

  it.each([
    ['light', 1000],
    ['dark', 1000],
    ['light', 390],
  ] as const)('in %s, %i pixels wide', async (colorScheme, width) => {
    const page: Page = await browser.newPage({ colorScheme, viewport: { width, height: 900 } })
    const wrong: string[] = []
    page.on('pageerror', (error) => wrong.push(error.message))
    page.on('console', (message) => {
      // The first request has no token yet.
      if (message.type() === 'error' && !message.text().includes('401')) wrong.push(message.text())
    })
    await page.goto(api.url)
    await page.getByLabel('Token').fill(token)
    await page.getByRole('button', { name: 'Show' }).click()
    await page.getByText('lab is started').waitFor()
    // A node is plotted at once, each unit on an axis of its own.
    await expect.poll(() => page.locator('#plots figcaption').allTextContents()).toEqual(['V', 'A', 'W'])
    const row = page.locator('#nodes tbody tr').first()
    await expect.poll(() => row.locator('td').nth(4).textContent()).toMatch(/^1\d\d|^2\d\d/)
    await row.getByRole('button').click()
    await page.locator('#legend b').nth(2).waitFor()
    const values = () => page.locator('#legend b').allTextContents()
    const before = await values()
    await expect.poll(values).not.toEqual(before)
    expect((await page.locator('#legend').textContent())!).toMatch(/voltage \[V\].*current \[A\].*power \[W\]/)
    // Something is drawn: there are pixels of three colours and more.
    const colours = () =>
      page.evaluate(() => {
        const canvas = document.querySelector('canvas')!
        const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height)
        return new Set(new Uint32Array(data.buffer)).size
      })
    await expect.poll(colours).toBeGreaterThan(4)
    await expect
      .poll(() => page.locator('#graph').evaluate((image) => (image as HTMLImageElement).naturalWidth))
      .toBeGreaterThan(300)
    // The page itself is never wider than the window; what is wide scrolls inside of it.
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    const hidden = await page
      .locator('tbody td.n, #graph')
      .evaluateAll(
        (cells, width) =>
          cells.filter((cell) => cell.getBoundingClientRect().right > width).map((cell) => cell.outerHTML),
        width,
      )
    expect(hidden).toEqual([])
    // What nobody reads is not a failure.
    expect(await page.locator('#nodes .dim').textContent()).toMatch(/^[\d,]+ \(no reader\)$/)
    await page.locator('#legend').getByLabel('current').uncheck()
    expect(await page.locator('#plots figcaption').allTextContents()).toEqual(['V', 'W'])
    await page.getByLabel('a plot for each signal').check()
    expect(await page.locator('#plots figcaption').allTextContents()).toEqual(['voltage [V]', 'power [W]'])
    const { VERBENA_SCREENSHOTS: folder } = process.env
    if (folder !== undefined) {
      await page.waitForTimeout(5000)
      await page.screenshot({ path: `${folder}/gateway-${colorScheme}-${width}.png`, fullPage: true })
    }
    await page.getByRole('button', { name: 'close' }).click()
    expect(await page.locator('#live').isVisible()).toBe(false)
    expect(wrong).toEqual([])
    await page.close()
  })

  it('is opened by the address with the token, which is then not in it', async () => {
    const page = await browser.newPage()
    await page.goto(`${api.url}/#token=${token}`)
    await page.getByText('lab is started').waitFor()
    expect(page.url()).toBe(`${api.url}/`)
    expect(await page.locator('#login').isVisible()).toBe(false)
    // Until the tab is closed.
    await page.reload()
    await page.getByText('lab is started').waitFor()
    await page.close()
  })
})
