/** The project's pages of Markdown, and what other pages can link to in them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root: string = fileURLToPath(new URL('../../', import.meta.url))

/** Paths from the project's root. */
export const pages: readonly string[] = [
  ...markdownIn('.', false),
  ...['docs', 'examples', 'test', 'src', 'bench', 'scripts'].flatMap((folder) => markdownIn(folder, true)),
].sort()

function markdownIn(folder: string, recursive: boolean): string[] {
  const names = readdirSync(join(root, folder), { recursive }) as string[]
  return names.filter((name) => /^(?!.*node_modules).*\.md$/.test(name)).map((name) => join(folder, name))
}

export const textOf = (page: string): string => readFileSync(`${root}${page}`, 'utf8')

/** The page without its blocks of code, in which nothing is a link or a heading. */
const proseOf = (text: string): string => text.replace(/^(```+)[^\n]*\n[\s\S]*?^\1/gm, '')

/** Blocks of code in one of the languages, in the page's order. */
export function blocksOf(text: string, ...languages: string[]): string[] {
  const blocks = text.matchAll(/^```(\w*)[^\n]*\n([\s\S]*?)^```/gm)
  return [...blocks].filter(([, language]) => languages.includes(language!)).map(([, , code]) => code!)
}

/** What a page names in the words of code (`…`): files and folders, and the words of expressions such as `Parking.wake` or `rest(true)`. */
export function namesOf(text: string): { files: string[]; words: string[] } {
  const spans = [...proseOf(text).matchAll(/`([^`\n]+)`/g)].map(([, span]) => span!)
  const expressions = spans.filter((span) => /^[A-Za-z]\w*(\.[A-Za-z]\w*)*(\(\w*\))?$/.test(span) && !isFile(span))
  return { files: spans.filter(isFile), words: expressions.flatMap((span) => span.match(/\w+/g)!) }
}

const isFile = (span: string): boolean => /^\w[\w./-]*(\.(mjs|ts|md|txt)|\/)$/.test(span)

/** The names that GitHub gives the headings of a page: links end in `#NAME`. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading] of proseOf(text).matchAll(/^#{1,6} +(.+?) *#*$/gm)) {
    const name = heading!
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
      .replaceAll(' ', '-')
    let anchor = name
    for (let again = 1; anchors.has(anchor); again++) anchor = `${name}-${again}`
    anchors.add(anchor)
  }
  return anchors
}

/** Targets of links and pictures; those of other sites are left out. */
export function linksOf(text: string): { path: string; anchor: string }[] {
  const targets = [...proseOf(text).matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)/g)]
  return targets
    .map(([, target]) => target!)
    .filter((target) => !/^[a-z][a-z+.-]*:/.test(target))
    .map((target) => {
      const [path = '', anchor = ''] = target.split('#')
      return { path: decodeURIComponent(path), anchor }
    })
}
