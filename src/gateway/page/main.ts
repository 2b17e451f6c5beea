/** The live page: rates of nodes and paths, missed steps, and the signals of one node as they come. It runs in a browser. */
import { PageToken } from '../../page/index.ts'
import { whole } from '../../text/index.ts'
import { Plot } from './plot.ts'

type Counts = Record<string, number>

interface NodeDocument {
  name: string
  type: string
  state: string
  signals: { name: string; unit: string }[]
  counts: Record<string, number>
}

interface StatusDocument {
  name: string | null
  state: string
  version: string
  uptimeSeconds: number
  failures: { node: string; message: string }[]
}

interface PathDocument {
  uuid: string
  in: string[]
  out: string[]
  hooks: string[]
  state: string
  counts: Record<string, number>
}

const periodMs = 1000
const token = new PageToken('verbena-gateway-token')

const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T
const plot = new Plot(element('plots'), element('legend'), element<HTMLInputElement>('each'))
/** Counts at the last request, by node or path. */
const before = new Map<string, { at: number; counts: Record<string, number> }>()
let watched: { name: string; socket: WebSocket } | null = null
/** True if the user has chosen what is plotted, or that nothing is. */
let isChosen = false
let drawnFor = ''

async function get<T>(path: string): Promise<T> {
  const { value } = token
  const headers: HeadersInit = value === null ? {} : { authorization: `Bearer ${value}` }
  const response = await fetch(`/api/v2/${path}`, { headers })
  if (response.status === 401) {
    element('login').hidden = false
    throw new Error('this gateway asks for a token')
  }
  if (!response.ok) throw new Error(((await response.json()) as { error: string }).error)
  return (path.startsWith('graph') ? response.blob() : response.json()) as Promise<T>
}

async function update(): Promise<void> {
  const [status, nodes, paths] = await Promise.all([
    get<StatusDocument>('status'),
    get<NodeDocument[]>('nodes'),
    get<PathDocument[]>('paths'),
  ])
  element('login').hidden = true
  const failures = status.failures.map(({ node, message }) => `${node}: ${message}`)
  showNotice(
    [
      `${status.name ?? 'gateway'} is ${status.state}`,
      `for ${durationText(status.uptimeSeconds)}`,
      `version ${status.version}`,
      ...failures,
    ].join(' · '),
    failures.length > 0,
  )
  const sources = new Set(paths.flatMap((path) => path.in.map((mapping) => mapping.split('.')[0]!)))
  fill(
    'nodes',
    nodes.map((node) => nodeRow(node, sources)),
  )
  fill('paths', paths.map(pathRow))
  const first = nodes.find(({ signals, counts }) => signals.length > 0 && (counts.read ?? counts.written ?? 0) > 0)
  if (!isChosen && watched === null && first !== undefined) watch(first.name, first.signals)
  // A picture only when there is another one.
  const now = JSON.stringify([
    nodes.map(({ name, state }) => [name, state]),
    paths.map(({ uuid, state }) => [uuid, state]),
  ])
  if (now === drawnFor) return
  drawnFor = now
  const image = element<HTMLImageElement>('graph')
  URL.revokeObjectURL(image.src)
  image.src = URL.createObjectURL(await get<Blob>('graph.svg'))
}

/** Returns the cells of a node. `sources`: names of nodes that paths read. */
function nodeRow(
  { name, type, state, signals, counts }: NodeDocument,
  sources: ReadonlySet<string>,
): (string | Node)[] {
  const rate = rates(name, counts)
  const button = document.createElement('button')
  button.textContent = 'signals'
  button.disabled = signals.length === 0
  button.setAttribute('aria-pressed', String(watched?.name === name))
  button.addEventListener('click', () => {
    isChosen = true
    watch(name, signals)
  })
  // Samples that no path is meant to read are not an error.
  const isLoopback = type === 'loopback' && !sources.has(name)
  const isServer = type === 'websocket' && state !== 'pending connect'
  const { lost } = counts
  const unread = isLoopback ? (lost ?? 0) : isServer ? unseen(counts) : 0
  const why = isLoopback ? 'no reader' : 'no viewer'
  return [
    name,
    button,
    type,
    state,
    rate('read'),
    rate('written'),
    unread > 0 ? unreadText(unread, why, lost! - unread) : bad(lost),
    bad(counts.missed_steps),
  ]
}

/**
 * Returns the samples that were lost because no viewer was connected. Counts that a node keeps by itself are known once a second, `lost` at
 * once.
 */
function unseen({ lost = 0, not_connected: known = 0, connections = 0, disconnects = 0, ...counts }: Counts): number {
  const others = ['dropped', 'send_failed', 'not_encoded', 'too_long'].reduce(
    (sum, name) => sum + (counts[name] ?? 0),
    0,
  )
  return connections > disconnects || known === 0 ? Math.min(lost, known) : Math.max(0, lost - others)
}

/** Shows samples for which there was no reader, and other ones. */
function unreadText(unread: number, why: string, others: number): Node {
  const found = document.createDocumentFragment()
  if (others > 0) found.append(bad(others), ' + ')
  const span = document.createElement('span')
  span.className = 'dim'
  span.textContent = `${whole(unread)} (${why})`
  found.append(span)
  return found
}

/** Formats 3 min, 2 h: the largest unit of which there are two, or the smallest. */
function durationText(seconds: number): string {
  const units = [
    ['d', 86_400],
    ['h', 3600],
    ['min', 60],
  ] as const
  const [unit, size] = units.find(([, each]) => seconds >= 2 * each) ?? ['s', 1]
  return `${Math.floor(seconds / size)} ${unit}`
}

function pathRow({ uuid, in: sources, out, hooks, state, counts }: PathDocument): (string | Node)[] {
  const rate = rates(uuid, counts)
  return [
    sources.join(' + '),
    out.join(', '),
    hooks.join(', '),
    state,
    rate('received'),
    rate('sent'),
    bad(counts.missed),
  ]
}

/** Returns changes per second since the last time. */
function rates(of: string, counts: Record<string, number>): (name: string) => string {
  const at = performance.now()
  const last = before.get(of)
  before.set(of, { at, counts })
  return (name) => {
    const [now, then] = [counts[name], last?.counts[name]]
    if (now === undefined || then === undefined || last === undefined || now < then) return ''
    return (((now - then) / (at - last.at)) * 1000).toLocaleString('en', { maximumFractionDigits: 1 })
  }
}

/** Shows a number that should be 0. */
function bad(count: number | undefined): string | Node {
  if (count === undefined) return ''
  const span = document.createElement('span')
  span.textContent = whole(count)
  if (count > 0) span.className = 'bad'
  return span
}

function fill(id: string, rows: (string | Node)[][]): void {
  const table = element<HTMLTableElement>(id)
  const heads = [...table.tHead!.rows[0]!.cells]
  const [numbers, labels] = [heads.map(({ className }) => className), heads.map(({ textContent }) => textContent)]
  const focused = document.activeElement?.closest('tr')?.rowIndex ?? -1
  table.tBodies[0]!.replaceChildren(
    ...rows.map((cells) => {
      const row = document.createElement('tr')
      // In a narrow window, a row is a card, and its cells have labels.
      for (const [i, cell] of cells.entries()) {
        const td = row.insertCell()
        td.className = numbers[i] ?? ''
        td.dataset.label = labels[i] ?? ''
        td.append(cell)
        td.classList.toggle('none', td.textContent === '')
      }
      return row
    }),
  )
  // The focus of the keyboard stays where it was.
  if (focused > 0) table.rows[focused]?.querySelector('button')?.focus()
}

function watch(name: string, signals: NodeDocument['signals']): void {
  leave()
  plot.begin(signals)
  element('watched').textContent = name
  element('live').hidden = false
  const address = new URL(`/${name}.json?watch`, location.href)
  if (token.value !== null) address.searchParams.set('token', token.value)
  address.protocol = address.protocol.replace('http', 'ws')
  const socket = new WebSocket(address, 'live')
  watched = { name, socket }
  socket.addEventListener('message', ({ data }) => {
    for (const sample of JSON.parse(String(data))) plot.add(sample)
  })
  socket.addEventListener('close', ({ reason }) => {
    if (watched?.socket === socket && reason !== '') showNotice(reason, true)
  })
}

function leave(): void {
  watched?.socket.close()
  watched = null
  element('live').hidden = true
}

function showNotice(text: string, isBad: boolean): void {
  element('status').textContent = text
  element('status').className = isBad ? 'bad' : ''
}

async function loop(): Promise<void> {
  for (;;) {
    await update().catch((error: Error) => showNotice(error.message, true))
    await new Promise((resolve) => setTimeout(resolve, periodMs))
  }
}

element('close').addEventListener('click', () => {
  isChosen = true
  leave()
})
element('full').addEventListener('click', () => {
  const isFull = element('graph').classList.toggle('full')
  element('full').setAttribute('aria-pressed', String(isFull))
})
element('login').addEventListener('submit', (event) => {
  event.preventDefault()
  token.value = element<HTMLInputElement>('token').value
  void update().catch((error: Error) => showNotice(error.message, true))
})
void loop()
