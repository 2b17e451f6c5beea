/** The monitor's live page in Chromium: windows as they come, from hosts to messages, light, dark and narrow. */
import { once } from 'node:events'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { PageServer } from '../../src/monitor/api/index.ts'
import { type AgentState, Alerts, answerOf, parseAlert } from '../../src/monitor/index.ts'
import { LiveView } from '../../src/monitor/view/index.ts'
import { A, B, seconds, Traffic } from '../monitor/traffic.ts'
import { startBrowser, whyNoBrowser } from './chromium.ts'
import { faint } from './contrast.ts'

const token = 'a-token-of-some-length'
/** A name that would be markup, if it were not text only. */
const name = '<img src=x onerror=alert(1)>'
const sender = '10.0.0.33'

/** Windows that come when they are asked for: SENDs with ACKs, a READ, a NAK, and a microburst in each. */
class Source {
  readonly #traffic = new Traffic({ memoryBytes: 2 ** 25, agent: name })
  readonly #alerts = new Alerts([parseAlert('nakSequence > 0')])
  readonly live = new LiveView({
    ...{ keys: ['connection', 'qp'], measure: 'bytes', rules: 1, sums: true, agents: () => this.agents },
  })
  agents: AgentState[] = []
  #psn = 0
  #windows = 0

  next(): void {
    const traffic = this.#traffic
    traffic.nowNs = ++this.#windows * 1e9
    for (let i = 0; i < 200; i++, this.#psn++) {
      traffic.send(this.#psn, { payload: 512 }, 3e6)
      traffic.ack(this.#psn)
      for (let host = 0; host < i % 7; host++)
        traffic.packet({ source: `10.0.0.${10 + host}`, destination: B, destQp: 0x30 + host, psn: i })
    }
    traffic.read(this.#psn, 64)
    traffic.response(this.#psn++, 64)
    traffic.ack(this.#psn, 0x60)
    for (let psn = 0; psn < 300; psn++)
      traffic.packet({ source: sender, destination: B, destQp: 0xcc, psn, payload: 1024 }, 500)
    traffic.observer.tick((seconds + this.#windows + 1) * 1000)
    for (const window of traffic.windows.splice(0)) {
      const answer = answerOf(window)
      this.live.add(window, answer, this.#alerts.update(answer))
    }
  }
}

const agent = (name: string, state: AgentState['state']): AgentState => ({
  ...{ name, run: name, state, lastMs: 0, heardMs: Date.UTC(2026, 0, 1), windows: 3, repeated: 0, missing: 1 },
  aheadSeconds: 0,
})

describe.skipIf(whyNoBrowser)("the monitor's live page", { timeout: 120_000 }, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await startBrowser()
  }, 60_000)
  afterAll(() => browser?.close())

  /** Two windows are there; nothing may be complained about, or asked of anybody else. */
  async function withPage(
    { width = 1200, colours = 'light' as 'light' | 'dark' },
    look: (page: Page, next: () => void, source: Source) => Promise<void>,
  ): Promise<void> {
    const source = new Source()
    source.agents = [agent(name, 'here'), agent('rack 7', 'lags')]
    source.next()
    source.next()
    const server = await PageServer.start({ live: source.live, host: '127.0.0.1', port: 0, token })
    const page = await browser.newPage({ colorScheme: colours, viewport: { width, height: 900 } })
    const wrong: string[] = []
    page.on('pageerror', (error) => wrong.push(error.message))
    page.on('dialog', (dialog) => wrong.push(dialog.message()))
    page.on('console', (message) => {
      // The first connection has no token yet, the second one a wrong one.
      const isExpected = /Authentication|status of 401/.test(message.text())
      if (['error', 'warning'].includes(message.type()) && !isExpected) wrong.push(message.text())
    })
    page.on('request', (request) => {
      if (!request.url().startsWith(server.url) && !request.url().startsWith('data:')) wrong.push(request.url())
    })
    try {
      await page.goto(server.url)
      await page.getByLabel('Token').fill(`${token}x`)
      await page.getByRole('button', { name: 'Show' }).click()
      await page.getByText('This is not the token.').waitFor()
      await page.getByLabel('Token').fill(token)
      await page.getByRole('button', { name: 'Show' }).click()
      await page.locator('html[data-window="2"]').waitFor()
      const next = (): void => {
        source.next()
        server.update()
      }
      await look(page, next, source)
      expect(wrong).toEqual([])
    } finally {
      await page.close()
      await server.close()
    }
  }

  const rowsOf = (page: Page, place: string): Promise<string[][]> =>
    page
      .locator(`${place} tbody tr`)
      .evaluateAll((rows) => rows.map((row) => [...(row as HTMLTableRowElement).cells].map((cell) => cell.textContent)))

  it('shows windows as they come, and keeps one that is held', async () => {
    await withPage({}, async (page, next, { live }) => {
      await page.getByText('nakSequence is 1: nakSequence > 0').first().waitFor()
      expect(await page.locator('#agents').textContent()).toContain(name)
      // First those with whom something is wrong.
      expect((await rowsOf(page, '#agents')).map((row) => row.slice(0, 2))).toEqual([
        ['rack 7', 'lags'],
        [name, 'here'],
      ])
      expect(await page.locator('#bits svg path.line').count()).toBe(1)
      next()
      await page.locator('html[data-window="3"]').waitFor()
      await page.locator('#bits svg').click({ position: { x: 80, y: 80 } })
      await page.locator('html[data-window="1"]').waitFor()
      expect(await page.locator('#status').textContent()).toMatch(/^held at .*, live at /)
      next()
      await expect.poll(() => page.locator('#status').textContent()).toContain('live at')
      expect(await page.locator('html').getAttribute('data-window')).toBe('1')
      await page.getByRole('button', { name: 'Go on' }).click()
      await page.locator('html[data-window="4"]').waitFor()
      live.isOver = true
      next()
      await page.getByText('all was read').waitFor()
    })
  })

  it('ends with the sum of all windows, from which each window can be opened', async () => {
    await withPage({}, async (page, next, { live }) => {
      live.isOver = true
      next()
      await page.getByText('Sum of all 3 windows: 3 s from').waitFor()
      const figures = page.locator('#figures')
      const { packets } = live.view(0)!.answer.totals
      expect(await figures.textContent()).toContain(`${packets.toLocaleString('en')} are RDMA`)
      // Its tables and details are those of all windows, too.
      const sent = () => rowsOf(page, '#key-rows').then((rows) => rows.find(([name]) => name!.includes(sender))?.[1])
      await page.locator('#of').selectOption('packets')
      await expect.poll(sent).toBe('900')
      await page.locator('#heat').getByRole('button', { name: sender, exact: true }).first().click()
      await page.locator('#detail').getByRole('heading', { name: 'from its queue pairs' }).waitFor()
      expect(await page.locator('#hold').isVisible()).toBe(false)
      await page.locator('#bits svg').click({ position: { x: 80, y: 80 } })
      await page.locator('html[data-window="1"]').waitFor()
      await expect.poll(sent).toBe('300')
      await page.getByRole('button', { name: 'All windows' }).click()
      await page.locator('html[data-window="0"]').waitFor()
      await expect.poll(sent).toBe('900')
    })
  })

  it('lists keys with their bounds, by any key and measure', async () => {
    await withPage({}, async (page, _next, { live }) => {
      const rows = () => rowsOf(page, '#key-rows')
      await expect.poll(async () => (await rows()).length).toBeGreaterThan(2)
      await page.locator('#by').selectOption('qp')
      await page.locator('#of').selectOption('packets')
      await expect.poll(async () => (await rows())[0]?.[0]).toBe(`${B} QP 0xcc`)
      const [row] = live.view(2)!.answer.top.qp!
      expect(row!.name).toBe(`${B} QP 0xcc`)
      // Rows are made anew with each window.
      await expect.poll(async () => (await rows())[0]?.slice(-2).every((text) => /^[\d,]+$/.test(text))).toBe(true)
      await page.locator('#of').selectOption('nakSequence')
      await expect
        .poll(async () => (await rows()).map((cells) => cells.slice(0, 4)))
        .toEqual([[`${A} QP 0xa`, '1', '100.0 %', '1']])
    })
  })

  it('opens a host, its queue pair, and messages of that', async () => {
    await withPage({}, async (page) => {
      await page.locator('#heat').getByRole('button', { name: B, exact: true }).first().click()
      const detail = page.locator('#detail')
      await detail.getByRole('heading', { name: 'to its queue pairs' }).waitFor()
      await detail.locator('figure path.band').waitFor()
      await detail
        .getByRole('button', { name: `${B} QP 0xb`, exact: true })
        .first()
        .click()
      await detail.getByRole('heading', { name: 'slowest messages' }).waitFor()
      expect(await detail.textContent()).toContain('READ_RESPONSE')
      await page.goBack()
      await detail.getByRole('heading', { name: 'to its queue pairs' }).waitFor()
      await detail.getByRole('button', { name: 'close' }).click()
      expect(await detail.isVisible()).toBe(false)
    })
  })

  it('takes a click during which a window comes', async () => {
    await withPage({}, async (page, next) => {
      let frames = 0
      page.on('websocket', (socket) => socket.on('framereceived', () => frames++))
      await page.reload()
      await page.locator('html[data-window="2"]').waitFor()
      await expect.poll(() => page.locator('#key-rows tbody tr').count()).toBeGreaterThan(2)
      await page.locator('#heat').getByRole('button', { name: B, exact: true }).first().hover()
      const before = frames
      await page.mouse.down()
      next()
      await expect.poll(() => frames, { interval: 5 }).toBeGreaterThan(before)
      await page.mouse.up()
      await page.locator('#detail').getByRole('heading', { name: 'to its queue pairs' }).waitFor()
      await page.locator('html[data-window="3"]').waitFor()
    })
  })

  it('shows the rates of one microburst', async () => {
    await withPage({}, async (page) => {
      await page
        .locator('#burst-rows')
        .getByRole('button', { name: `${B} QP 0xcc` })
        .first()
        .click()
      await page.locator('#burst path.band').waitFor()
      await page.locator('#burst svg').focus()
      await page.keyboard.press('ArrowRight')
      expect(await page.locator('#burst .legend').textContent()).toMatch(/rate .*bit\/s \(.* to .*\)/)
    })
  })

  it('says what is wrong with an address, and goes on', async () => {
    await withPage({}, async (page) => {
      const detail = page.locator('#detail')
      for (const wrong of [`host=${'x'.repeat(200)}`, `host=${B}&qp=16777216`]) {
        await page.evaluate((hash) => {
          location.hash = hash
        }, wrong)
        await detail.getByText('no question').waitFor()
      }
      await page.evaluate((hash) => {
        location.hash = hash
      }, `host=${B}`)
      await detail.getByRole('heading', { name: 'to its queue pairs' }).waitFor()
    })
  })

  /** Without a token. What the browser says of sockets that do not open is expected here. */
  async function looking(look: (page: Page, start: () => Promise<Source>, end: () => Promise<void>) => Promise<void>) {
    let server: PageServer | undefined
    let port = 0
    const start = async (): Promise<Source> => {
      const source = new Source()
      server = await PageServer.start({ live: source.live, host: '127.0.0.1', port, token: null })
      port = Number(new URL(server.url).port)
      return source
    }
    const end = async (): Promise<void> => server?.close()
    const page = await browser.newPage()
    try {
      const first = await start()
      for (let i = 0; i < 3; i++) first.next()
      await page.goto(server!.url)
      await look(page, start, end)
    } finally {
      await page.close()
      await end()
    }
  }

  it('lets go of a held window when the monitor was started anew', async () => {
    await looking(async (page, start, end) => {
      await page.locator('html[data-window="3"]').waitFor()
      await page.getByRole('button', { name: 'Hold' }).click()
      await page.locator('#burst-rows button').first().click()
      await page.locator('#burst path.band').waitFor()
      await end()
      await page.getByText('the monitor has ended').waitFor()
      const second = await start()
      second.next()
      await page.locator('html[data-window="1"]').waitFor()
      expect(await page.locator('#status').textContent()).toMatch(/^live, /)
      expect(await page.locator('#hold').textContent()).toBe('Hold')
      expect(await page.locator('#burst').isVisible()).toBe(false)
      expect(await page.locator('#burst-rows tbody tr').count()).toBe(second.live.update(0, 0).bursts.length)
    })
  })

  it('says that there are too many viewers, and tries again', async () => {
    await looking(async (page) => {
      await page.locator('html[data-window="3"]').waitFor()
      const url = page.url()
      await page.goto('about:blank')
      const clients = Array.from({ length: 32 }, () => new WebSocket(new URL('/live', url.replace('http', 'ws'))))
      for (const client of clients) if (client.readyState !== client.OPEN) await once(client, 'open')
      await page.goto(url)
      await page.getByText('there are 32 viewers already').waitFor()
      expect(await page.getByLabel('Token').isVisible()).toBe(false)
      clients[0]!.close()
      await page.locator('html[data-window="3"]').waitFor()
      for (const client of clients) client.close()
    })
  })

  it.each([
    ['light', 1200],
    ['dark', 1200],
    ['light', 390],
    ['dark', 390],
  ] as const)('can be read in %s, %i pixels wide', async (colours, width) => {
    await withPage({ colours, width }, async (page, next) => {
      for (let number = 3; number < 9; number++) {
        next()
        await page.locator(`html[data-window="${number}"]`).waitFor()
      }
      await page.locator('#heat').getByRole('button', { name: B, exact: true }).first().click()
      await page.locator('#detail path.band').waitFor()
      await page.locator('#burst-rows button').first().click()
      await page.locator('#burst path.band').waitFor()
      const { VERBENA_SCREENSHOTS: folder } = process.env
      if (folder !== undefined)
        await page.screenshot({ path: `${folder}/monitor-${colours}-${width}.png`, fullPage: true })
      // The page itself is never wider than the window; what is wide scrolls inside of it.
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
      expect(await page.locator('body').evaluate(faint)).toEqual([])
    })
  })
})
