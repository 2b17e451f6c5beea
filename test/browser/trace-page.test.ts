/** The page of `verbena trace page` in Chromium: it reads captures as the commands do, without any request, and can be used. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verbena } from '../cli/in-process.ts'
import { startBrowser, whyNoBrowser } from './chromium.ts'
import { faint } from './contrast.ts'

const hasZstd = spawnSync('zstd', ['--version']).status === 0

const captures = new URL('../captures/', import.meta.url).pathname
const names = readdirSync(captures).filter((name) => name.endsWith('.pcap'))
const lossy = join(captures, 'rc_pingpong_loss3.pcap')
const { VERBENA_SCREENSHOTS: screenshots } = process.env

describe.skipIf(whyNoBrowser)('the page of trace page', { timeout: 120_000 }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'verbena-page-'))
  const empty = join(dir, 'empty.html')
  let browser: Browser
  beforeAll(async () => {
    expect((await verbena('trace', 'page', '-o', empty)).code).toBe(0)
    browser = await startBrowser()
  }, 60_000)
  afterAll(async () => {
    await browser?.close()
    rmSync(dir, { recursive: true, force: true })
  })

  interface Window {
    width?: number
    colours?: 'light' | 'dark'
  }

  /** Opens a page that the command wrote; nothing may be complained about, or asked for but the page and its worker. */
  async function withPage(
    html: string,
    { width = 1200, colours = 'light' }: Window,
    look: (page: Page) => Promise<void>,
  ) {
    const page = await browser.newPage({ colorScheme: colours, viewport: { width, height: 900 } })
    const wrong: string[] = []
    page.on('pageerror', (error) => wrong.push(error.message))
    page.on('console', (message) => wrong.push(message.text()))
    page.on('request', (request) => {
      if (!/^(data|blob):/.test(request.url()) && request.url() !== pathToFileURL(html).href) wrong.push(request.url())
    })
    await page.goto(pathToFileURL(html).href)
    await look(page)
    expect(wrong).toEqual([])
    await page.close()
  }

  const ready = (page: Page, name: string) => page.locator(`html[data-ready="${name}"]`).waitFor()

  async function openFile(page: Page, file: string): Promise<void> {
    await page.locator('#file').setInputFiles(file)
    await ready(page, file.replace(/^.*\//, ''))
  }

  /** What the page saves as JSON. */
  async function savedJson(page: Page): Promise<unknown> {
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#save').click()])
    return JSON.parse(readFileSync(await download.path(), 'utf8'))
  }

  const infoOf = async (file: string): Promise<unknown> =>
    JSON.parse((await verbena('trace', 'info', file, '--json')).stdout)

  const figures = (page: Page): Promise<Record<string, string>> =>
    page.evaluate(() =>
      Object.fromEntries(
        [...document.querySelectorAll('#figures div')].map((one) => [
          one.querySelector('dt')!.textContent,
          one.querySelector('dd')!.textContent,
        ]),
      ),
    )

  it('says of every capture what trace info and trace check say', async () => {
    await withPage(empty, {}, async (page) => {
      for (const name of names) {
        const file = join(captures, name)
        await openFile(page, file)
        const info = (await infoOf(file)) as { packets: number; conversations: { number: number }[] }
        expect(await savedJson(page), name).toEqual(info)
        const check = JSON.parse((await verbena('trace', 'check', file, '--json')).stdout) as Record<string, number>
        expect(await figures(page), name).toMatchObject({
          packets: info.packets.toLocaleString('en'),
          'of RDMA': check.roce!.toLocaleString('en'),
          conversations: String(info.conversations.length),
          'ICRC valid': check.icrcValid!.toLocaleString('en'),
          'ICRC wrong': '0',
        })
        expect(await page.locator('#conversations tbody tr').count()).toBe(info.conversations.length)
      }
    })
  })

  it('takes a capture that is dropped', async () => {
    await withPage(empty, {}, async (page) => {
      const transfer = await page.evaluateHandle((base64) => {
        const bytes = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0))
        const data = new DataTransfer()
        data.items.add(new File([bytes], 'dropped.pcap'))
        return data
      }, readFileSync(lossy).toString('base64'))
      await page.dispatchEvent('body', 'drop', { dataTransfer: transfer })
      await ready(page, 'dropped.pcap')
      expect((await figures(page)).retransmissions).toBe('103')
    })
  })

  it('reads gzip of several members, and zstd of several frames', async () => {
    const bytes = readFileSync(lossy)
    const gz = join(dir, 'two.pcap.gz')
    writeFileSync(gz, Buffer.concat([gzipSync(bytes.subarray(0, 100_001)), gzipSync(bytes.subarray(100_001))]))
    const files = [gz]
    if (hasZstd) {
      const zst = join(dir, 'two.pcap.zst')
      const parts = [bytes.subarray(0, 100_001), bytes.subarray(100_001)].map(
        (input) => spawnSync('zstd', ['-19', '-c'], { input, maxBuffer: 2 ** 24 }).stdout,
      )
      writeFileSync(zst, Buffer.concat(parts))
      files.push(zst)
    }
    const info = await infoOf(lossy)
    await withPage(empty, {}, async (page) => {
      for (const file of files) {
        await openFile(page, file)
        expect(await savedJson(page)).toEqual(info)
        // Packets can be looked at again.
        await page.locator('.line').nth(9).click()
        await page.getByText('ICRC, right').waitFor()
      }
    })
  })

  it('shows what can be read of a damaged file, and says what is wrong', async () => {
    const bytes = readFileSync(lossy)
    // The header of the 31st record.
    let header = 24
    for (let i = 0; i < 30; i++) header += 16 + bytes.readUInt32LE(header + 8)
    bytes.fill(0xee, header, header + 30)
    const file = join(dir, 'damaged.pcap')
    writeFileSync(file, bytes.subarray(0, -7))
    const info = (await infoOf(file)) as { damage: { what: string }[] }
    expect(info.damage.length).toBe(2)
    const gz = join(dir, 'damaged.pcap.gz')
    writeFileSync(gz, gzipSync(readFileSync(lossy)).subarray(0, 12_000))
    const garbage = join(dir, 'garbage.pcap')
    writeFileSync(garbage, 'this is no capture')
    await withPage(empty, {}, async (page) => {
      await openFile(page, file)
      expect(await savedJson(page)).toEqual(info)
      for (const { what } of info.damage) expect(await page.locator('#notes').textContent()).toContain(what)
      await openFile(page, gz)
      expect(await page.locator('#notes').textContent()).toContain('the gzip stream is damaged here')
      expect(Number((await figures(page)).packets)).toBeGreaterThan(100)
      await page.locator('#file').setInputFiles(garbage)
      await page.getByText('neither pcap nor pcapng').waitFor()
      // And goes on.
      await openFile(page, lossy)
      expect((await figures(page)).packets).toBe('815')
    })
  })

  it('filters as trace show does, and decodes what is chosen', async () => {
    const filters = ['retransmission or nak', 'latency > 1ms', 'psn == 15043937', 'conv == 1 and payload == 784']
    await withPage(empty, {}, async (page) => {
      await openFile(page, lossy)
      for (const filter of filters) {
        await page.getByLabel('filter').fill(filter)
        await page.getByLabel('filter').press('Enter')
        const { stdout } = await verbena('trace', 'show', lossy, '--filter', filter, '--json')
        const rows = stdout
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as { number: number })
        await page.getByText(`${rows.length} of 815 packets`, { exact: true }).waitFor()
        await expect
          .poll(() => page.locator('.line .n:first-child').first().textContent())
          .toBe(String(rows[0]!.number))
      }
      await page.getByLabel('filter').fill('psn = 3')
      await page.getByLabel('filter').press('Enter')
      await page.locator('#filter-error').getByText('^').waitFor()
      await page.getByRole('button', { name: 'Show all' }).click()
      await page.getByText('815 packets', { exact: true }).waitFor()
      // By keyboard: the third packet.
      await page.locator('#packets').focus()
      for (let i = 1; i <= 3; i++) {
        await page.keyboard.press('ArrowDown')
        await page.getByRole('heading', { name: `Packet ${i},` }).waitFor()
      }
      const { stdout } = await verbena('trace', 'show', lossy, '--filter', 'number == 3', '--verbose')
      const titles = await page.locator('#packet summary').allTextContents()
      expect(
        stdout
          .split('\n')
          .filter((line) => /\[\d+, \d+\)$/.test(line))
          .map((line) => line.replace(/ +/g, ' ')),
      ).toEqual(titles)
      await page.keyboard.press('End')
      await page.getByRole('heading', { name: 'Packet 815,' }).waitFor()
      await expect.poll(() => page.locator('.line[aria-selected="true"]').count()).toBe(1)
    })
  })

  it('goes from a diagram to the packet', async () => {
    await withPage(empty, {}, async (page) => {
      await openFile(page, lossy)
      const [first, second] = [page.locator('.diagram').first(), page.locator('.diagram').nth(1)]
      expect(await first.locator('.legend li:visible').allTextContents()).toEqual(
        expect.arrayContaining([expect.stringMatching(/request 289/), expect.stringMatching(/^ NAK 11/)]),
      )
      expect(await second.locator('.legend').textContent()).toMatch(/duplicate: was acknowledged 21/)
      await first.getByRole('button', { name: /^NAK/ }).click()
      await page.getByRole('heading', { name: 'Packet 10,' }).waitFor()
      const { stdout } = await verbena('trace', 'show', lossy, '--filter', 'nak and src == 10.77.0.2', '--json')
      const naks = stdout
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { number: number }).number)
      expect(naks.length).toBe(11)
      for (const number of [...naks.slice(1), naks[0]]) {
        await first.getByRole('button', { name: /^NAK/ }).click()
        await page.getByRole('heading', { name: `Packet ${number},` }).waitFor()
      }
      const canvas = first.locator('canvas')
      const picture = () => canvas.evaluate((one) => (one as HTMLCanvasElement).toDataURL())
      let before = await picture()
      await canvas.focus()
      for (const key of ['0', '+', 'ArrowRight', '-', '0']) {
        await page.keyboard.press(key)
        await expect.poll(picture).not.toBe(before)
        before = await picture()
      }
      await page.getByRole('button', { name: 'Latencies' }).click()
      await expect.poll(() => page.locator('.diagram[data-diagram="latency"]').count()).toBe(2)
    })
  })

  it('has the captures in it that it was made with', async () => {
    const html = join(dir, 'with.html')
    const { code, stderr } = await verbena('trace', 'page', lossy, join(captures, 'rping.pcap'), '-o', html)
    expect([code, stderr]).toEqual([0, expect.stringContaining('of captures are in the page')])
    await withPage(html, {}, async (page) => {
      await ready(page, 'rc_pingpong_loss3.pcap')
      expect(await savedJson(page)).toEqual(await infoOf(lossy))
      await page.getByRole('button', { name: 'rping.pcap' }).click()
      await ready(page, 'rping.pcap')
      expect(await savedJson(page)).toEqual(await infoOf(join(captures, 'rping.pcap')))
    })
  })

  it.each([
    ['light', 1200],
    ['dark', 1200],
    ['light', 390],
    ['dark', 390],
  ] as const)('in %s, %i pixels wide, fits the window', async (colours, width) => {
    await withPage(empty, { colours, width }, async (page) => {
      await openFile(page, lossy)
      await page.locator('[data-number="3"]').click()
      await page.getByRole('heading', { name: 'Packet 3,' }).waitFor()
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
      expect(await page.locator('body').evaluate(faint)).toEqual([])
      // Something is drawn, in more than the colours of the axes.
      const drawn = await page
        .locator('canvas')
        .first()
        .evaluate((one) => {
          const canvas = one as HTMLCanvasElement
          const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height)
          return new Set(new Uint32Array(data.buffer)).size
        })
      expect(drawn).toBeGreaterThan(20)
      if (screenshots !== undefined) {
        await page.evaluate(() => scrollTo(0, 0))
        await page.screenshot({ path: `${screenshots}/trace-${colours}-${width}.png`, fullPage: true })
      }
    })
  })
})
