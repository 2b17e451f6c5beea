/**
 * Pages as whole documents. The policy of each permits its own style and scripts, by their hashes, and no request but those that it
 * names.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

export interface PageParts {
  title: string
  style: string
  /** HTML, in which text is escaped. */
  body: string
  /** Script, in one piece. */
  script: string
  /** Further directives of the policy: "connect-src 'self'". */
  permits?: readonly string[]
  /** Sources of images in the policy. */
  images?: string
  /** True if there are styles in the body, too. */
  freeStyle?: boolean
}

export function pageDocument(parts: PageParts): string {
  const { title, style, body, script, permits = [], images = 'data:', freeStyle = false } = parts
  const policy = [
    "default-src 'none'",
    `style-src ${freeStyle ? "'unsafe-inline'" : hashOf(style)}`,
    `script-src ${hashOf(script)}`,
    ...permits,
    `img-src ${images}`,
    "base-uri 'none'",
    "form-action 'none'",
  ]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy.join('; ')}">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
${body}
<script>${script}</script>
</body>
</html>
`
}

function hashOf(code: string): string {
  return `'sha256-${createHash('sha256').update(code).digest('base64')}'`
}

/** Returns a script of a page, as the build made it (scripts/pages.mjs). @throws Error when the package was not built */
export function pageScript(name: string): string {
  // Beside a bundle; in dist when the sources run, or a bundle elsewhere.
  for (const place of [name, `../../dist/${name}`]) {
    try {
      return readFileSync(new URL(place, import.meta.url), 'utf8')
    } catch {}
  }
  throw new Error(`${name} is not there: run \`npm run build\``)
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
