/**
 * How the page of `verbena trace page` takes a large capture: `npx tsx test/browser/page-speed.ts [megabytes] [payload]`. Prints how
 * long it is read, the longest time that the page did not answer, and the memory of the browser's processes.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'
import { nativeCrc32 } from '../../src/memory/index.ts'
import { useCrc32 } from '../../src/wire/index.ts'
import { writeLargeCapture } from '../trace/large-capture.ts'

const bytes = Number(process.argv[2] ?? 1000) * 1e6
const payload = Number(process.argv[3] ?? 8)
const dir = mkdtempSync(join(tmpdir(), 'verbena-page-speed-'))

/** Resident memory in MB of this process's children whose command line has `word`. */
function residentMb(profile: string, word: string): number {
  let pages = 0
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      if (line.includes(profile) && line.includes(word))
        pages += Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1])
    } catch {}
  }
  return (pages * 4096) / 1e6
}

const log = (what: string, value: string): void => console.log(`${what.padEnd(44)} ${value}`)

try {
  useCrc32(nativeCrc32())
  const file = join(dir, 'large.pcap')
  // With headers, ICRC and record headers, a SEND and its ACK.
  const packets = Math.floor((bytes / (payload + 58 + 16 + 62 + 16)) * 2)
  writeLargeCapture(file, { packets, payload, againEvery: 5000 })
  const html = join(dir, 'page.html')
  const made = spawnSync(process.execPath, ['dist/verbena.js', 'trace', 'page', '-o', html], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (made.status !== 0) throw new Error('the page was not written')
  log('capture', `${(statSync(file).size / 1e6).toFixed(0)} MB, ${packets} packets`)
  const profile = join(dir, 'profile')
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
    viewport: { width: 1200, height: 900 },
  })
  const page = context.pages()[0]!
  await page.goto(pathToFileURL(html).href)
  // As text: tsx would put calls of a helper into a function, which the browser does not have.
  await page.evaluate(`
    window.state = { frame: performance.now(), longest: 0, tasks: 0 }
    const tick = () => {
      const now = performance.now()
      state.longest = Math.max(state.longest, now - state.frame)
      state.frame = now
      requestAnimationFrame(tick)
    }
    requestAnimationFrame(tick)
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) state.tasks = Math.max(state.tasks, duration)
    }).observe({ type: 'longtask' })`)
  const longest = async (what: string): Promise<void> => {
    const { longest, tasks } = (await page.evaluate(
      '(() => { const seen = { ...state }; state.longest = state.tasks = 0; return seen })()',
    )) as { longest: number; tasks: number }
    log(what, `${longest.toFixed(0)} ms between frames, longest task ${tasks === 0 ? 'below 50' : tasks.toFixed(0)} ms`)
  }
  let peak = 0
  const memory = setInterval(() => {
    peak = Math.max(peak, residentMb(profile, '--type=renderer'))
  }, 250)
  const idle = residentMb(profile, '--type=renderer')
  const timed = async (what: string, run: () => Promise<unknown>): Promise<void> => {
    const started = performance.now()
    await run()
    log(what, `${((performance.now() - started) / 1000).toFixed(2)} s`)
    await longest('  longest wait of the page')
  }
  await page.locator('#file').setInputFiles(file)
  await timed('read, analysed, first diagram drawn', () =>
    page.locator('html[data-ready]').waitFor({ timeout: 300_000 }),
  )
  log('renderer and worker', `${idle.toFixed(0)} MB before, ${peak.toFixed(0)} MB at most`)
  await timed('the last packet (End)', async () => {
    await page.locator('#packets').focus()
    await page.keyboard.press('End')
    await page.getByRole('heading', { name: `Packet ${packets},` }).waitFor()
  })
  await timed('filter: retransmission', async () => {
    await page.getByLabel('filter').fill('retransmission')
    await page.getByLabel('filter').press('Enter')
    await page.locator('#filter-stop').waitFor({ state: 'visible' })
    await page.locator('#filter-stop').waitFor({ state: 'hidden', timeout: 300_000 })
  })
  log('found', (await page.locator('#filter-count').textContent()) ?? '')
  await timed('zooming in and out by keys, 40 times', async () => {
    await page.locator('canvas').first().focus()
    for (let i = 0; i < 40; i++) await page.keyboard.press(i % 8 < 4 ? '+' : '-')
  })
  clearInterval(memory)
  log('renderer and worker at the end', `${residentMb(profile, '--type=renderer').toFixed(0)} MB`)
  await context.close()
} finally {
  rmSync(dir, { recursive: true, force: true })
}
