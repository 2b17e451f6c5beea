/** The page's script, which the build bundles into one file (src/report/browser, scripts/build.mjs). */

import { readFileSync } from 'node:fs'

const NAME = 'report-page.js'
let code: string | undefined

/** @throws Error when the package was not built */
export function pageCode(): string {
  // Beside a bundle, above dist/report, or in dist when the sources run.
  for (const place of [`./${NAME}`, `../${NAME}`, `../../dist/${NAME}`]) {
    if (code !== undefined) break
    try {
      code = readFileSync(new URL(place, import.meta.url), 'utf8')
    } catch {}
  }
  if (code === undefined) throw new Error(`${NAME} is not there: run \`npm run build\``)
  return code
}
