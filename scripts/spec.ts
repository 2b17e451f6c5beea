/**
 * `npm run spec`: which clauses of the InfiniBand Architecture (volume 1, and its annexes A17, RoCEv2, and A19, memory placement) branches
 * of src/ name, by file and line; which of them no test names; and where we deviate, with the reasons. `--json` prints one document.
 *
 * A comment names clauses if its line begins with `IBA` and their identifiers; the lines that follow it belong to it:
 *
 *     // IBA 9.7.5.2.8: text                 a section of volume 1; A17.4.5.2: of an annex
 *     // IBA C9-88, o10-37.2.30: text        compliance statements; CA17-22, oA19-13: of an annex
 *     // IBA list-83: text                   where the number is not known: the case of the conformance list in test/compliance
 *     // IBA C9-140 deviation: reason        what is done otherwise
 *
 * A test names a clause in the same form, where the text may be left out; the numbered cases of test/compliance name theirs by their titles.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A comment that names clauses. */
export interface Mention {
  file: string
  /** From 1 on. */
  line: number
  clauses: string[]
  isDeviation: boolean
  /** What the clause says, or why we deviate from it; of a test it may be empty. */
  text: string
}

export interface Mistake {
  file: string
  line: number
  message: string
}

export interface Spec {
  /** In src/, in the order of files and lines. */
  mentions: Mention[]
  /** Where tests name each clause: `file:line`. */
  tests: Record<string, string[]>
  /** Clauses that no test names. */
  untested: string[]
  mistakes: Mistake[]
}

/** Clauses without a test, and why: nothing else may have none. */
export const withoutTest: Readonly<Record<string, string>> = {}

const root = fileURLToPath(new URL('..', import.meta.url))

const section = String.raw`(?:A\d+\.)?\d+(?:\.\d+)+`
const statement = String.raw`[Co](?:A?\d+)-\d+(?:\.[a-z]?\d+)*`
const clause = `(?:${section}|${statement}|list-\\d+)`
const commentLine = /^\s*(?:\/\/|\/\*\*|\*(?!\/))\s?(.*?)\s*(?:\*\/)?$/
const mention = new RegExp(`^IBA (${clause}(?:, ${clause})*)( deviation)?(?:: (.+))?$`)
/** A compliance statement that is named in a comment in another form. */
const elsewhere = /\b[Co](?:A\d+|9|1[0-7])-\d+/

/** The comments of a file that name clauses, and those that seem to and do not. `needsText`: as in src/. */
export function mentionsOf(
  file: string,
  source: string,
  needsText: boolean,
): { mentions: Mention[]; mistakes: Mistake[] } {
  const mentions: Mention[] = []
  const mistakes: Mistake[] = []
  let open: Mention | undefined
  for (const [i, line] of source.split('\n').entries()) {
    const comment = commentLine.exec(line)?.[1]
    if (comment === undefined || comment === '') {
      open = undefined
      continue
    }
    if (!/^IBA\b/.test(comment)) {
      if (open !== undefined) open.text += ` ${comment}`
      else if (needsText && elsewhere.test(comment))
        mistakes.push({ file, line: i + 1, message: 'begin the line with IBA and the clause' })
      continue
    }
    const [, clauses, deviation, text = ''] = mention.exec(comment) ?? []
    open = undefined
    if (clauses === undefined)
      mistakes.push({
        file,
        line: i + 1,
        message: `'${comment}' is not 'IBA CLAUSE: text' or 'IBA CLAUSE deviation: reason'`,
      })
    else if (text === '' && needsText) mistakes.push({ file, line: i + 1, message: `say what ${clauses} asks for` })
    else {
      open = { file, line: i + 1, clauses: clauses.split(', '), isDeviation: deviation !== undefined, text }
      mentions.push(open)
    }
  }
  return { mentions, mistakes }
}

/** The cases of the conformance list that this file of test/compliance has: titles begin with their number. */
export function casesOf(source: string): { clause: string; line: number }[] {
  return source
    .split('\n')
    .flatMap((text, i) =>
      [...text.matchAll(/['"`](\d{1,3}) \S/g)].map(([, number]) => ({ clause: `list-${number}`, line: i + 1 })),
    )
}

function filesOf(folder: string): string[] {
  return (readdirSync(join(root, folder), { recursive: true }) as string[])
    .filter((name) => name.endsWith('.ts') && !name.includes('node_modules'))
    .map((name) => join(folder, name))
    .sort()
}

/** All of this repository. */
export function readSpec(): Spec {
  const spec: Spec = { mentions: [], tests: {}, untested: [], mistakes: [] }
  const read = (file: string): string => readFileSync(join(root, file), 'utf8')
  for (const file of filesOf('src')) {
    const { mentions, mistakes } = mentionsOf(file, read(file), true)
    spec.mentions.push(...mentions)
    spec.mistakes.push(...mistakes)
  }
  const named = new Set(spec.mentions.flatMap(({ clauses }) => clauses))
  const found = (clause: string, place: string): void => {
    spec.tests[clause] ??= []
    spec.tests[clause].push(place)
  }
  for (const file of filesOf('test')) {
    const source = read(file)
    const { mentions, mistakes } = mentionsOf(file, source, false)
    for (const { clauses, line } of mentions)
      for (const clause of clauses) {
        if (named.has(clause)) found(clause, `${file}:${line}`)
        else spec.mistakes.push({ file, line, message: `${clause} is named nowhere in src/` })
      }
    spec.mistakes.push(...mistakes)
    if (!file.startsWith('test/compliance/')) continue
    for (const { clause, line } of casesOf(source)) if (named.has(clause)) found(clause, `${file}:${line}`)
  }
  spec.untested = [...named].filter((clause) => spec.tests[clause] === undefined)
  return spec
}

/** As it is printed. */
export function formatSpec({ mentions, tests, untested, mistakes }: Spec): string {
  const named = new Set(mentions.flatMap(({ clauses }) => clauses))
  const deviations = mentions.filter(({ isDeviation }) => isDeviation)
  const lines: string[] = []
  for (const file of new Set(mentions.map((at) => at.file))) {
    lines.push(file)
    for (const { line, clauses, isDeviation, text } of mentions.filter((at) => at.file === file))
      lines.push(`  ${String(line).padStart(4)}  ${clauses.join(', ')}${isDeviation ? ' (deviation)' : ''}: ${text}`)
  }
  lines.push('', 'Deviations')
  for (const { file, line, clauses, text } of deviations)
    lines.push(`  ${clauses.join(', ')}  ${file}:${line}`, `    ${text}`)
  lines.push('', 'Without a test')
  for (const clause of untested) lines.push(`  ${clause}: ${withoutTest[clause] ?? 'no reason is given'}`)
  if (untested.length === 0) lines.push('  none')
  if (mistakes.length > 0)
    lines.push('', 'Mistakes', ...mistakes.map(({ file, line, message }) => `  ${file}:${line}: ${message}`))
  const places = Object.values(tests).reduce((sum, { length }) => sum + length, 0)
  const files = new Set(mentions.map(({ file }) => file)).size
  lines.push(
    '',
    `${named.size} clauses at ${mentions.length} places of ${files} files, ${deviations.length} deviations; ` +
      `tests name them at ${places} places, and ${untested.length} of them nowhere`,
  )
  return lines.join('\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const args = process.argv.slice(2)
  if (args.some((arg) => arg !== '--json')) {
    console.error('usage: npm run spec, or npm run --silent spec -- --json')
    process.exit(2)
  }
  const spec = readSpec()
  console.log(args.length > 0 ? JSON.stringify({ ...spec, withoutTest }, null, 2) : formatSpec(spec))
}
