/** The live page: rates of nodes and paths, missed steps, and the signals of one node as they come. It runs in a browser. */
import { PageToken } from '../../page/index.ts'
import { Plot } from './plot.ts'

interface NodeDocument {
  name: string
  type: string
  state: string
  signals: { name: string; unit: string }[]
  counts: Record<string, number>
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
const plot = new Plot(element<HTMLCanvasElement>('plot'), element('legend'))
/** Counts when they were last asked for, by node or path. */
const before = new Map<string, { at: number; counts: Record<string, number> }>()
let watched: { name: string; socket: WebSocket } | null = null
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
    get<{ name: string | null; state: string; version: string; failures: { node: string; message: string }[] }>(
      'status',
    ),
    get<NodeDocument[]>('nodes'),
    get<PathDocument[]>('paths'),
  ])
  element('login').hidden = true
  const failures = status.failures.map(({ node, message }) => `${node}: ${message}`)
  say(
    [`${status.name ?? 'gateway'} is ${status.state}`, `version ${status.version}`, ...failures].join(' · '),
    failures.length > 0,
  )
  fill('nodes', nodes.map(nodeRow))
  fill('paths', paths.map(pathRow))
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

function nodeRow({ name, type, state, signals, counts }: NodeDocument): (string | Node)[] {
  const rate = rates(name, counts)
  const button = document.createElement('button')
  button.textContent = 'signals'
  button.disabled = signals.length === 0
  button.setAttribute('aria-pressed', String(watched?.name === name))
  button.addEventListener('click', () => watch(name, signals))
  return [name, button, type, state, rate('read'), rate('written'), bad(counts.lost), bad(counts.missed_steps)]
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

/** Changes per second since the last time. */
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

/** A number that should be 0. */
function bad(count: number | undefined): string | Node {
  if (count === undefined) return ''
  const span = document.createElement('span')
  span.textContent = count.toLocaleString('en')
  if (count > 0) span.className = 'bad'
  return span
}

function fill(id: string, rows: (string | Node)[][]): void {
  const table = element<HTMLTableElement>(id)
  const numbers = [...table.tHead!.rows[0]!.cells].map(({ className }) => className)
  const focused = document.activeElement?.closest('tr')?.rowIndex ?? -1
  table.tBodies[0]!.replaceChildren(
    ...rows.map((cells) => {
      const row = document.createElement('tr')
      for (const [i, cell] of cells.entries()) {
        const td = row.insertCell()
        td.className = numbers[i] ?? ''
        td.append(cell)
      }
      return row
    }),
  )
  // Who uses the keyboard stays where they were.
  if (focused > 0) table.rows[focused]?.querySelector('button')?.focus()
}

function watch(name: string, signals: NodeDocument['signals']): void {
  leave()
  plot.begin(signals.map((signal) => (signal.unit === '' ? signal.name : `${signal.name} [${signal.unit}]`)))
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
    if (watched?.socket === socket && reason !== '') say(reason, true)
  })
}

function leave(): void {
  watched?.socket.close()
  watched = null
  element('live').hidden = true
}

function say(text: string, isBad: boolean): void {
  element('status').textContent = text
  element('status').className = isBad ? 'bad' : ''
}

async function loop(): Promise<void> {
  for (;;) {
    await update().catch((error: Error) => say(error.message, true))
    await new Promise((resolve) => setTimeout(resolve, periodMs))
  }
}

element('close').addEventListener('click', leave)
element('login').addEventListener('submit', (event) => {
  event.preventDefault()
  token.value = element<HTMLInputElement>('token').value
  void update().catch((error: Error) => say(error.message, true))
})
void loop()
