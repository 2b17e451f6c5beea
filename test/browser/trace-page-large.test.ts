/** A large capture in the page of `verbena trace page`: all of it counted, listed and drawn; cancelled half-way. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nativeCrc32 } from '../../src/memory/index.ts'
import { useCrc32 } from '../../src/wire/index.ts'
import { verbena } from '../cli/in-process.ts'
import { writeLargeCapture } from '../trace/large-capture.ts'
import { startBrowser, whyNoBrowser } from './chromium.ts'

const text = (count: number): string => count.toLocaleString('en')

describe.skipIf(whyNoBrowser)('a capture of 200 MB in the page', { timeout: 300_000 }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'verbena-large-'))
  const file = join(dir, 'large.pcap')
  const packets = 980_000
  let again = 0
  let browser: Browser
  let page: Page
  beforeAll(async () => {
    useCrc32(nativeCrc32())
    again = writeLargeCapture(file, { packets, payload: 256, connections: 8, againEvery: 5000 })
    const html = join(dir, 'page.html')
    expect((await verbena('trace', 'page', '-o', html)).code).toBe(0)
    browser = await startBrowser()
    page = await browser.newPage()
    await page.goto(pathToFileURL(html).href)
  }, 120_000)
  afterAll(async () => {
    await browser?.close()
    rmSync(dir, { recursive: true, force: true })
  })

  const figure = (name: string) =>
    page.locator('#figures div', { has: page.locator('dt', { hasText: new RegExp(`^${name}$`) }) }).locator('dd')

  it('can be cancelled, and shows what was read until then', async () => {
    await page.locator('#file').setInputFiles(file)
    await page.locator('#result').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.locator('html[data-ready]').waitFor()
    await page.getByText('Cancelled after packet').waitFor()
    const read = Number((await figure('packets').textContent())!.replaceAll(',', ''))
    expect(read).toBeGreaterThan(0)
    expect(read).toBeLessThan(packets)
    expect(await page.locator('#filter-count').textContent()).toBe(`${text(read)} packets`)
  })

  it('is read to its end; any packet can be shown, and found', async () => {
    await page.locator('#file').setInputFiles(file)
    await page.locator('html[data-ready]').waitFor({ timeout: 120_000 })
    expect(await figure('packets').textContent()).toBe(text(packets))
    expect(await figure('ICRC valid').textContent()).toBe(text(packets))
    expect(await figure('conversations').textContent()).toBe('8')
    expect(await figure('retransmissions').textContent()).toBe(text(again))
    await page.locator('#packets').focus()
    await page.keyboard.press('End')
    await page.getByRole('heading', { name: `Packet ${packets},` }).waitFor()
    expect(await page.locator('.line[aria-selected="true"]').getAttribute('data-number')).toBe(String(packets))
    await page.getByRole('button', { name: 'lost and sent again' }).click()
    await page.getByText(`${text(again)} of ${text(packets)} packets`, { exact: true }).waitFor({ timeout: 120_000 })
    await page.getByRole('button', { name: 'Show all' }).click()
    await page.getByText(`${text(packets)} packets`, { exact: true }).waitFor()
  })

  it('draws more points than there are pixels, and leads to each that is rare', async () => {
    const legend = page.locator('.diagram .legend').first()
    const each = (await legend.locator('button', { hasText: 'retransmission' }).locator('b').textContent())!
    expect(Number(each)).toBeGreaterThan(0)
    await legend.getByRole('button', { name: /^retransmission/ }).click()
    const title = page.getByRole('heading', { name: /^Packet \d+,/ })
    await expect.poll(() => title.textContent()).not.toContain(String(packets))
    expect(await page.locator('#packet .facts').textContent()).toContain('RETRANSMISSION of packet')
  })
})
