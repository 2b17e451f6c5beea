/**
 * Makes the pictures of pages in docs/pictures: `npm run pictures [folder]`. It generates the traffic in virtual time, starts the
 * commands of dist/, and looks at their pages in Chromium. Queue pairs have other numbers each time. The other pictures come from the
 * commands that stand beside them in the guides, by `verbena report`, and from `verbena gateway graph`.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'

const root = fileURLToPath(new URL('..', import.meta.url))
const command = join(root, 'dist', 'verbena.js')
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
const pictures = process.argv[2] ?? join(root, 'docs', 'pictures')
const folder = mkdtempSync(join(tmpdir(), 'verbena-pictures-'))

const servers = (count: number): string => `[${Array.from({ length: count }, (_, i) => `10.0.0.${i + 2}`).join(', ')}]`

/** Requests to eight servers at once, whose WRITEs meet at the port of the client; some packets are lost. */
const incast = `
seed: 1
servers: ${servers(8)}
size: 128KiB
bandwidth: 1Gbps
load: 0.2
verbs: { write: 1 }
fanout: { 8: 1 }
duration: 3s
faults: { loss: 0.001 }
`

/** Few WRITEs at ten times the rate, some of them close together. */
const bursts = `
seed: 5
servers: ${servers(2)}
size: 64KiB
bandwidth: 10Gbps
load: 0.002
arrival: { type: onoff, on: 500us, off: 100ms }
verbs: { write: 1 }
duration: 1s
`

function capture(name: string, configuration: string): string {
  const [config, file] = [join(folder, `${name}.yaml`), join(folder, `${name}.pcap`)]
  writeFileSync(config, configuration)
  execFileSync(process.execPath, [command, 'traffic', 'client', config, '--pcap', file], { stdio: 'ignore' })
  return file
}

const page = async (browser: Browser, height: number): Promise<Page> =>
  await browser.newPage({
    ...{ viewport: { width: 1200, height }, colorScheme: 'light' },
    ...{ locale: 'en-GB', timezoneId: 'UTC', reducedMotion: 'reduce' },
  })

/** The monitor's page of a file, when all of it was read. */
async function monitored(
  browser: Browser,
  args: readonly string[],
  look: (page: Page) => Promise<void>,
): Promise<void> {
  const child: ChildProcess = spawn(process.execPath, [command, 'monitor', ...args, '--page', '0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(child, 'exit')
  try {
    let url: string | undefined
    let isOver = false
    for await (const line of createInterface(child.stderr!)) {
      url ??= /The page is at (\S+)/.exec(line)?.[1]
      isOver = line.startsWith('All was read.')
      if (isOver) break
    }
    if (url === undefined || !isOver) throw new Error(`verbena monitor ${args.join(' ')} shows no page`)
    const one = await page(browser, 960)
    await one.goto(url)
    await one.locator('html[data-window]').waitFor()
    await look(one)
    await one.close()
  } finally {
    child.kill('SIGINT')
    await ended
  }
}

async function make(browser: Browser): Promise<void> {
  const incastFile = capture('incast', incast)
  const options = ['--window', '0.1', '--alert', 'missing > 3']
  await monitored(browser, [incastFile, ...options], async (one) => {
    // A window in the middle.
    await one.locator('#bits svg').click()
    await one.getByText(/^held at /).waitFor()
    await one.mouse.move(0, 0)
    await one.locator('#key-rows tbody tr').first().waitFor()
    await one.screenshot({ path: join(pictures, 'monitor-page.png') })
  })

  await monitored(browser, [capture('bursts', bursts), '--window', '0.1'], async (one) => {
    await one.locator('#burst-rows').getByRole('button', { name: '10.0.0.1', exact: true }).first().click()
    await one.locator('#burst path.band').waitFor()
    await one.locator('#burst figure').screenshot({ path: join(pictures, 'monitor-burst.png') })
  })

  const html = join(folder, 'trace.html')
  const lossy = join(root, 'test', 'captures', 'rc_pingpong_loss3.pcap')
  execFileSync(process.execPath, [command, 'trace', 'page', lossy, '-o', html], { stdio: 'ignore' })
  const trace = await page(browser, 950)
  await trace.goto(pathToFileURL(html).href)
  // The only conversation is open already.
  await trace.locator('#diagrams canvas, #diagrams svg').first().waitFor()
  await trace.screenshot({ path: join(pictures, 'trace-page.png') })
}

try {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  try {
    await make(browser)
  } finally {
    await browser.close()
  }
} finally {
  rmSync(folder, { recursive: true })
}
