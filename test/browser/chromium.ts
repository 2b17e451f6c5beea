/** The browser of the tests of pages: Chromium without a window. Debian's headless shell is the same engine with less around it. */
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const executablePath = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path))

/** Why pages cannot be tested here; undefined if they can. */
export const whyNoBrowser: string | undefined =
  executablePath === undefined ? 'there is no Chromium (on Debian: apt-get install chromium-headless-shell)' : undefined
if (whyNoBrowser) console.warn(`skipped: pages cannot be tested, because ${whyNoBrowser}`)

/** Starts one; `more` are further options of it. */
export function startBrowser(more: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath: executablePath!, args: ['--no-sandbox', '--disable-gpu', ...more] })
}
