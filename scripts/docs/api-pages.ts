/** The pages of docs/reference/api: each entry point of package.json with all that it exports. */
import { dirname, join } from 'node:path'
import { Declarations, type Export } from './declarations.ts'

export interface EntryPoint {
  /** As a program imports it. */
  name: string
  /** Of its declarations, from the root of the package. */
  types: string
}

/** The guide of an entry point, and what it is in a sentence. */
const abouts: Readonly<Record<string, { guide: string; about: string }>> = {
  verbena: {
    guide: '[verbs](../../guide/verbs.md), [RDMA CM](../../guide/rdma-cm.md), [rsockets](../../guide/rsocket.md)',
    about: 'The verbs on all devices, the RDMA CM, rsockets.',
  },
  'verbena/capture': {
    guide: '[captures from a program](../../guide/capture.md)',
    about: 'pcap and pcapng files, read and written. Loads no adapter.',
  },
  'verbena/collectives': {
    guide: '[collectives](../../guide/collectives.md)',
    about: 'Collective operations between threads, processes and hosts.',
  },
  'verbena/dgram': { guide: '[net and dgram](../../guide/net.md)', about: 'The shape of `node:dgram`, over rsockets.' },
  'verbena/gateway': {
    guide: '[gateway](../../guide/gateway.md)',
    about: 'The gateway of real-time samples: configurations, nodes and paths that run.',
  },
  'verbena/monitor': {
    guide: '[monitor](../../guide/monitor.md#from-a-program)',
    about: 'RDMA traffic in windows: counters, and sketches with bounds. Loads no adapter.',
  },
  'verbena/net': { guide: '[net and dgram](../../guide/net.md)', about: 'The shape of `node:net`, over rsockets.' },
  'verbena/preload': {
    guide: '[preload](../../guide/preload.md)',
    about: 'For `node --import` or `--require`: TCP programs over RDMA.',
  },
  'verbena/replay': {
    guide: '[replay](../../guide/replay.md#from-a-program)',
    about: 'Packets of captures rewritten, their messages reconstructed. Loads no adapter.',
  },
  'verbena/report': { guide: '[report](../../guide/report.md)', about: 'Charts and pages from saved results.' },
  'verbena/run': {
    guide: '[run](../../guide/run.md#from-nodejs)',
    about: 'RDMA programs of other languages as child processes with adapters of ours.',
  },
  'verbena/sketch': {
    guide: '[sketch](../../guide/sketch.md)',
    about: 'Sketches: streams of keys in bounded memory, with bounds on every answer.',
  },
  'verbena/trace': {
    guide: '[captures from a program](../../guide/capture.md#follow-the-connections)',
    about: 'What the packets of a capture mean in their connections. Loads no adapter.',
  },
  'verbena/traffic': {
    guide: '[traffic](../../guide/traffic.md#from-a-program)',
    about:
      'Generated traffic: configurations, distributions of sizes, schedules, fits, results. Runs in browsers, too.',
  },
  'verbena/traffic/load': {
    guide: '[traffic](../../guide/traffic.md#from-a-program)',
    about: 'Configurations of traffic and distributions from files.',
  },
  'verbena/wire': { guide: '[wire](../../guide/wire.md)', about: 'Packet formats: parse, check, build.' },
}

/** Sections of a page, by the folder of the declaration; the first that fits. */
const sections: readonly (readonly [prefix: string, title: string])[] = [
  ['verbs/api/', 'Verbs: objects'],
  ['verbs/', 'Verbs: names, numbers, attributes, devices'],
  ['devices/middleware/', 'Middleware'],
  ['devices/', 'Devices'],
  ['memory/', 'The machine'],
  ['cm/rdma/', 'The RDMA CM'],
  ['cm/', 'The communication manager'],
  ['rsocket/', 'rsockets'],
]

const kinds: readonly (readonly [kind: Export['kind'], title: string])[] = [
  ['class', 'Classes'],
  ['function', 'Functions'],
  ['constant', 'Constants'],
  ['type', 'Types'],
  ['namespace', 'Namespaces'],
]

const generated = '<!-- Made by `npm run docs` from the declarations: change the comments in src/ instead. -->'

/** File name in docs/reference/api, and text. */
export function apiPages(root: string, entryPoints: readonly EntryPoint[]): Map<string, string> {
  const declarations = new Declarations(root)
  // Where the declarations of src/ are: beside those of the entry point of the package's own name.
  const folder = `${dirname(entryPoints[0]!.types).replace(/^\.\//, '')}/`
  const pages = new Map<string, string>()
  const rows: string[] = []
  for (const { name, types } of entryPoints) {
    const about = abouts[name]
    if (!about) throw new Error(`scripts/docs/api-pages.ts says nothing about the entry point ${name}`)
    const exports = declarations.exportsOf(types.replace(/^\.\//, ''))
    const file = `${name.replaceAll('/', '-')}.md`
    pages.set(file, pageOf(name, about, exports, folder))
    rows.push(`| [\`${name}\`](${file}) | ${about.about} | ${about.guide} | ${exports.length} |`)
  }
  const table = ['| import | | guide | exports |', '| --- | --- | --- | ---: |', ...rows].join('\n')
  pages.set(
    'README.md',
    `${generated}\n\n# API\n\nEvery export of every entry point, with its declaration and its comment.\n\n${table}\n`,
  )
  return pages
}

function pageOf(
  name: string,
  { about, guide }: { about: string; guide: string },
  exports: Export[],
  folder: string,
): string {
  const parts = [generated, `# ${name}`, `${about} Guide: ${guide}.`]
  if (exports.length === 0) parts.push('It exports nothing.')
  const groups = new Map<string, Export[]>()
  for (const each of exports) {
    const from = each.from.slice(each.from.startsWith(folder) ? folder.length : 0)
    const title = sections.find(([prefix]) => from.startsWith(prefix))?.[1] ?? ''
    groups.set(title, [...(groups.get(title) ?? []), each])
  }
  const ordered = ['', ...sections.map(([, title]) => title)].filter((title) => groups.has(title))
  for (const title of ordered) {
    if (ordered.length > 1) parts.push(`## ${title || 'Others'}`)
    const group = groups.get(title)!
    parts.push(indexOf(group))
    for (const [kind] of kinds)
      for (const each of group) if (each.kind === kind) parts.push(textOf(each, ordered.length > 1 ? '###' : '##'))
  }
  return withAnchors(`${parts.join('\n\n')}\n`)
}

/** Fills in the anchors of names: those of headings that differ only in their case are numbered, in their order. */
function withAnchors(page: string): string {
  const anchors = new Map<string, string>()
  const used = new Map<string, number>()
  for (const [, heading] of page.matchAll(/^#+ (.+)$/gm)) {
    const anchor = heading!
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-')
    const before = used.get(anchor) ?? 0
    used.set(anchor, before + 1)
    anchors.set(heading!, before === 0 ? anchor : `${anchor}-${before}`)
  }
  return page.replace(/\(#@(\w+)\)/g, (_, name: string) => `(#${anchors.get(name)})`)
}

function indexOf(exports: Export[]): string {
  const rows = kinds.flatMap(([kind, title]) => {
    const names = exports.filter((each) => each.kind === kind)
    return names.length === 0 ? [] : [`| ${title} | ${names.map(({ name }) => `[${name}](#@${name})`).join(', ')} |`]
  })
  return ['| | |', '| --- | --- |', ...rows].join('\n')
}

function textOf({ name, kind, from, external, declarations }: Export, heading: string): string {
  const head = `${heading} ${name}`
  if (external) return `${head}\n\nThat of \`${from}\`.`
  if (kind === 'namespace') return `${head}\n\nAll exports of \`${from}\`, as one object.`
  const comments = declarations.map(({ comment }) => comment).filter((comment) => comment !== '')
  const sole = comments.length === 1 && declarations[0]!.comment === comments[0]
  const code = declarations.map(({ comment, code: text }) =>
    sole || comment === '' ? text : `${starred(comment)}\n${text}`,
  )
  const prose = sole ? `\n\n${comments[0]!.replace(/^ {4,}/gm, '    ')}` : ''
  return `${head}${prose}\n\n\`\`\`ts\n${code.join('\n')}\n\`\`\``
}

function starred(comment: string): string {
  const lines = comment.split('\n')
  return lines.length === 1
    ? `/** ${comment} */`
    : `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join('\n')}\n */`
}

/** The entry points that package.json names. */
export function entryPointsOf(manifest: { exports: Record<string, unknown> }): EntryPoint[] {
  return Object.entries(manifest.exports).flatMap(([path, target]) => {
    const types = (target as { types?: string }).types
    return types === undefined ? [] : [{ name: join('verbena', path), types }]
  })
}
