/**
 * The live page of a collector in Chromium, as operators have it: two agents that watch an interface send windows over HTTPS, and the page
 * is served over HTTPS, each with its token.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { interfaceIndex, nativeAvailable, PacketRing, PacketSender } from '../../src/memory/index.ts'
import { icrcOfRoceV2, put16, put32le, WireOpcode } from '../../src/wire/index.ts'
import { begin, type Running } from '../cli/in-process.ts'
import { aeth, type PacketSpec, roceFrame } from '../trace/packets.ts'
import { startBrowser, whyNoBrowser } from './chromium.ts'
import { faint } from './contrast.ts'

/** Why this cannot be tested here; undefined if it can. */
const missing = ((): string | undefined => {
  if (whyNoBrowser) return whyNoBrowser
  if (spawnSync('openssl', ['version']).status !== 0) return 'there is no openssl'
  if (!nativeAvailable) return 'there is no koffi'
  try {
    const filter = [{ code: 6, jt: 0, jf: 0, k: 0 }]
    PacketRing.open({ interfaceIndex: interfaceIndex('lo'), filter, ringBytes: 2 << 20 }).close()
    return undefined
  } catch (error) {
    return `packets cannot be captured: ${(error as Error).message}`
  }
})()
if (missing !== undefined && missing !== whyNoBrowser) console.warn(`skipped: ${missing}`)

const folder = mkdtempSync(join(tmpdir(), 'verbena-monitor-collector-'))
const at = (name: string): string => join(folder, name)
/** Other tests have RoCE on the loopback interface as well: these ports are ours. */
const ports = [0, 1].map((n) => 20_000 + 2 * (process.pid % 5000) + n)

/** SENDs of 1 KiB from a QP to another one, and their ACKs, as frames on the loopback interface: hosts of no network. */
class Pair {
  readonly #sender: PacketSender
  readonly #port: number
  readonly #names: readonly [string, string]
  #psn = 0

  constructor(port: number, names: readonly [string, string]) {
    this.#sender = new PacketSender(interfaceIndex('lo'))
    this.#port = port
    this.#names = names
  }

  send(count: number): void {
    const [source, destination] = this.#names
    for (let i = 0; i < count; i++, this.#psn++) {
      const psn = this.#psn
      const { RcSendOnly, RcAck } = WireOpcode
      this.#add({ opcode: RcSendOnly, destQp: 0xb, psn, payload: 1024, ackReq: true, source, destination, tos: 2 })
      const ack = { opcode: RcAck, destQp: 0xa, psn, extension: aeth(0x1f, psn + 1), tos: 2 }
      this.#add({ ...ack, source: destination, destination: source })
    }
    this.#sender.flush()
  }

  #add(spec: PacketSpec): void {
    const frame = roceFrame(spec)
    // Behind the headers of Ethernet, 14, and IP, 20: the destination port of UDP. The checksum of UDP is not used.
    put16(frame, 36, this.#port)
    put32le(frame, frame.length - 4, icrcOfRoceV2(frame, 14, 42, frame.length - 4))
    if (!this.#sender.hasRoom(frame.length)) this.#sender.flush()
    this.#sender.add(frame, 0, frame.length)
  }

  close(): void {
    this.#sender.close()
  }
}

describe.skipIf(missing !== undefined)('the live page of a collector, over HTTPS', { timeout: 180_000 }, () => {
  let browser: Browser
  let collector: Running
  let agents: Running[]
  let url: string
  const pairs: Pair[] = []
  let timer: NodeJS.Timeout
  const viewers = 'a-token-for-those-who-look'
  const [A, B, C, D] = ['10.20.0.1', '10.20.0.2', '10.20.0.10', '10.20.0.11']

  beforeAll(async () => {
    browser = await startBrowser()
    const made = spawnSync('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
      ...['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', at('key'), '-out', at('cert')],
    ])
    expect(made.status).toBe(0)
    writeFileSync(at('token'), 'a-token-for-the-agents\n')
    writeFileSync(at('viewers'), `${viewers}\n`)
    collector = begin([
      ...['monitor', 'collector', '--listen', '0', '--token-file', at('token'), '--memory', '8'],
      ...['--tls-key', at('key'), '--tls-cert', at('cert'), '--alert', 'messages > 1'],
      ...[
        '--page',
        '0',
        '--page-token-file',
        at('viewers'),
        '--page-tls-key',
        at('key'),
        '--page-tls-cert',
        at('cert'),
      ],
    ])
    const [, page = ''] = await collector.says(/The page is at (\S+)/)
    const [, address = ''] = await collector.says(/Collecting at (\S+);/)
    url = page
    agents = ports.map((port, i) =>
      begin([
        ...['monitor', '-i', 'lo', '--roce-port', String(port), '--name', `rack ${i + 1}`],
        ...['--collector', address, '--ca', at('cert'), '--token-file', at('token')],
      ]),
    )
    for (const agent of agents) await agent.says(/Watching|lo/)
    pairs.push(new Pair(ports[0]!, [A, B]), new Pair(ports[1]!, [C, D]))
    timer = setInterval(() => {
      for (const pair of pairs) pair.send(2)
    }, 10)
  }, 60_000)

  afterAll(async () => {
    clearInterval(timer)
    for (const agent of agents) agent.interrupt()
    for (const agent of agents) await agent.outcome
    collector.interrupt()
    await collector.outcome
    for (const pair of pairs) pair.close()
    await browser?.close()
    rmSync(folder, { recursive: true })
  })

  /** Nothing may be complained about, or asked of anybody else. */
  async function withPage(look: (page: Page) => Promise<void>): Promise<void> {
    const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1200, height: 900 } })
    const page = await context.newPage()
    const wrong: string[] = []
    page.on('pageerror', (error) => wrong.push(error.message))
    page.on('console', (message) => {
      const isExpected = /Authentication|status of 401/.test(message.text())
      if (['error', 'warning'].includes(message.type()) && !isExpected) wrong.push(message.text())
    })
    page.on('request', (request) => {
      if (!request.url().startsWith(url) && !request.url().startsWith('data:')) wrong.push(request.url())
    })
    try {
      await page.goto(url)
      await page.getByLabel('Token').fill(viewers)
      await page.getByRole('button', { name: 'Show' }).click()
      await page.locator('html[data-window]').waitFor()
      await page
        .locator('#heat')
        .getByRole('button', { name: `${C} → ${D}` })
        .waitFor()
      await look(page)
      expect(wrong).toEqual([])
    } finally {
      await context.close()
    }
  }

  it('has both agents, what they saw together, and details, and can be read in light and dark, wide and narrow', async () => {
    await withPage(async (page) => {
      expect(url).toMatch(/^https:/)
      const rows = page.locator('#agents tbody tr')
      await expect.poll(() => rows.locator('th').allTextContents()).toEqual(['rack 1', 'rack 2'])
      await expect.poll(() => rows.locator('td:nth-child(2)').allTextContents()).toEqual(['here', 'here'])
      expect(await page.locator('#agents').textContent()).not.toContain('run')
      const cell = page.locator('#heat').getByRole('button', { name: `${A} → ${B}` })
      await cell.hover()
      const bounds = /: (about .* \(.* to .*\)|[\d.]+ \w?B)/
      await expect.poll(() => page.locator('#heat [role=status]').textContent()).toMatch(bounds)
      await cell.click()
      const detail = page.locator('#detail')
      await detail.getByRole('heading', { name: B }).waitFor()
      await detail.locator('path.band').waitFor()
      await detail
        .getByRole('button', { name: `${B} QP 0xb`, exact: true })
        .first()
        .click()
      await detail.getByRole('heading', { name: 'flows to it' }).waitFor()
      expect(await detail.textContent()).toContain(`${A} QP 0xa → ${B} QP 0xb RC`)
      for (const width of [1200, 390])
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.setViewportSize({ width, height: 900 })
          await page.emulateMedia({ colorScheme })
          const { VERBENA_SCREENSHOTS: shots } = process.env
          if (shots !== undefined)
            await page.screenshot({ path: `${shots}/collector-${colorScheme}-${width}.png`, fullPage: true })
          expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
          expect(await page.locator('body').evaluate(faint)).toEqual([])
        }
    })
  })

  it('ends, though one does not finish its TLS handshake', async () => {
    const silent = connect(Number(new URL(url).port), '127.0.0.1')
    await new Promise((resolve) => silent.once('connect', resolve))
    clearInterval(timer)
    for (const agent of agents) agent.interrupt()
    for (const agent of agents) expect((await agent.outcome).code).toBe(130)
    collector.interrupt()
    const { code, stderr } = await collector.outcome
    expect([code, stderr]).toEqual([130, expect.stringContaining('ALERT: messages')])
    silent.destroy()
  })
})
