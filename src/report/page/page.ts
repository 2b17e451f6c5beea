/** Page around charts and tables: head, notes, machines, and the frame of each section. */

import { pageDocument } from '../../web/index.ts'
import { type PageData, packed } from '../browser/data.ts'
import { escapeHtml, formatBytes } from '../format.ts'
import { disturbance, machineFacts } from '../machine.ts'
import type { Run } from '../results.ts'
import type { Headline } from './headline.ts'
import { STYLE } from './style.ts'

export interface PageScript {
  /** Data for the page's script, as JSON. */
  data: PageData
  /** Script, without imports. */
  code: string
}

/** Returns the whole document. Its policy permits this one script, by its hash, and no request at all. */
export function page(title: string, body: string, { data, code }: PageScript): string {
  // In a script element only "</script" and "<!--" mean something: neither is in JSON without "<".
  const json = packed(data).replaceAll('<', '\\u003c')
  const main = `<main>\n${body}\n</main>\n<script type="application/json" id="data">${json}</script>`
  return pageDocument({ ...{ title, style: STYLE, script: code, freeStyle: true }, body: main })
}

/** Returns the headline. `disturbed`: reasons why the figures are not those of a quiet machine; empty when they are. */
export function headlineHtml({ sentence, figures }: Headline, disturbed: readonly string[] = []): string {
  const items = figures.map(([name, figure]) => `<div><dt>${escapeHtml(name)}</dt><dd>${escapeHtml(figure)}</dd></div>`)
  const marks = disturbed.map((text) => `\n<p class="disturbed" role="note">${escapeHtml(text)}</p>`).join('')
  return `<p class="headline">${escapeHtml(sentence)}</p>${marks}\n<dl class="figures">${items.join('')}</dl>`
}

/** Returns a section. The parts must be escaped already; they may contain markup. */
export function section(id: string, title: string, ...parts: string[]): string {
  const content = parts.filter((part) => part !== '')
  if (content.length === 0) return ''
  return `<section id="${id}">\n<h2>${escapeHtml(title)}</h2>\n${content.join('\n')}\n</section>`
}

export function figure(svg: string, name: string): string {
  const kind = /^<svg [^>]*class="(flame|surface)"/.exec(svg)?.[1] ?? 'plain'
  return `<figure id="chart-${name}" class="${kind}"><div class="chart" tabindex="0">${svg}</div></figure>`
}

/** Returns the place of a chart that is only a file of its own until the page's script draws it. */
export function laterFigure(name: string): string {
  const text = `This page draws it where it may run its script. It is also the file ${escapeHtml(name)}.svg.`
  return `<figure id="chart-${name}" class="plain"><div class="chart"><p class="faint later">${text}</p></div></figure>`
}

export function folded(summary: string, content: string): string {
  return content === '' ? '' : `<details>\n<summary>${escapeHtml(summary)}</summary>\n${content}\n</details>`
}

/** Returns the notes that a reader must know before the figures: interrupted runs, sets with errors, files that could not be read. */
export function notesHtml(notes: readonly string[]): string {
  if (notes.length === 0) return ''
  return `<div class="note" role="note"><ul>${notes.map((note) => `<li>${escapeHtml(note)}</li>`).join('')}</ul></div>`
}

/** Returns the disturbance of each run on a disturbed machine. */
export function disturbances(runs: readonly Run[]): string[] {
  return runs.flatMap(({ label, results }) => {
    const text = disturbance(results.machine)
    return text === undefined ? [] : [runs.length > 1 ? `${label}: ${text}` : text]
  })
}

export function runNotes(runs: readonly Run[]): string[] {
  const notes: string[] = []
  for (const { label, results } of runs) {
    if (!results.complete) {
      const sets = results.sets.length === 1 ? 'the one set' : `the ${results.sets.length} sets`
      notes.push(`The run ${label} did not finish: this report shows ${sets} measured before.`)
    }
    for (const set of results.sets) {
      if (set.error) notes.push(`Set ${set.id} of ${label} stopped early: ${set.error}`)
    }
  }
  return notes
}

/** Returns machine, versions, command and date of one run. */
export function factsHtml({ label, results }: Run, several: boolean): string {
  const { machine, versions, command, startedAt, durationSeconds } = results
  const permitted = Object.entries(machine.permitted).map(([name, yes]) => `${name}: ${yes ? 'yes' : 'no'}`)
  const facts: [string, string][] = [
    ['Command', `<code>${escapeHtml(command.join(' '))}</code>`],
    ['Date', `${escapeHtml(startedAt)}, ${durationSeconds.toFixed(1)} s`],
    ['Processor', escapeHtml(`${machine.cpu}, ${machine.cores} ${machine.cores === 1 ? 'core' : 'cores'}`)],
    ['Memory', memoryText(machine.memoryBytes)],
    ['System', escapeHtml(machine.os)],
    ['Load at the start', machine.load.toFixed(2)],
    ...machineFacts(machine),
    ...(permitted.length > 0 ? [['Permitted', escapeHtml(permitted.join(', '))] as [string, string]] : []),
    [
      'Versions',
      escapeHtml(
        Object.entries(versions)
          .map(([name, version]) => `${name} ${version}`)
          .join(', '),
      ),
    ],
  ]
  const list = facts.map(([name, value]) => `<dt>${name}</dt><dd>${value}</dd>`).join('\n')
  const title = several ? `<h3>${escapeHtml(label)}</h3>\n` : ''
  return `${title}<dl class="facts">\n${list}\n</dl>`
}

function memoryText(bytes: number): string {
  return bytes >= 2 ** 30 ? `${(bytes / 2 ** 30).toFixed(1)} GiB` : formatBytes(bytes)
}
