/** Time of the ends of sockets by component and function, and the file of each end's call tree. */
import { join } from 'node:path'
import { z } from 'zod'
import { componentColour, flameSvg } from '../charts/flame.ts'
import { ReportError } from '../errors.ts'
import { escapeHtml, formatBytes, formatRate, formatShare, gigabits } from '../format.ts'
import { readJson, replaceFile } from '../json-files.ts'
import { folded, section } from '../page/page.ts'
import { type Cell, NONE, table } from '../page/tables.ts'
import type { FlameNode, Run, Schema, Setting } from '../results.ts'
import { count, figure, id, settings } from '../schema-parts.ts'
import type { Canvas } from '../section.ts'

/** Time of an end by component and function, from samples of its thread's stack during a separate measurement. */
export interface SocketProfile {
  id: string
  end: 'client' | 'server'
  settings: Record<string, Setting>
  messagesPerSecond: number
  bytesPerSecond: number
  samples: number
  /** Shares of the samples; together 1. */
  components: { component: string; share: number }[]
  /** Functions with the most samples, with their module (a file, or the engine's name for it). */
  functions: { name: string; module: string; component: string; share: number }[]
}

const profile = z.object({
  id,
  end: z.enum(['client', 'server']),
  settings,
  messagesPerSecond: figure,
  bytesPerSecond: figure,
  samples: count,
  components: z.array(z.object({ component: z.string(), share: figure })),
  functions: z.array(z.object({ name: z.string(), module: z.string(), component: z.string(), share: figure })),
})

export const socketProfilesSchema: Schema<SocketProfile[]> = z.array(profile)

const flameSchema: z.ZodType<FlameNode> = z.object({
  name: z.string(),
  module: z.string(),
  component: z.string(),
  samples: count,
  get children() {
    return z.array(flameSchema)
  },
})

/** Returns the path of an end's call tree. */
function flamePath(dir: string, id: string, end: string): string {
  return join(dir, `${id}-${end}.flame.json`)
}

export function saveFlame(dir: string, id: string, end: string, root: FlameNode): void {
  replaceFile(flamePath(dir, id, end), `${JSON.stringify(root)}\n`)
}

/** @throws ReportError as loadResults does */
export function loadFlame(dir: string, id: string, end: string): FlameNode {
  return readJson(flamePath(dir, id, end), flameSchema, 'measure again, or delete the file to do without its picture')
}

const PROFILE_TEXT = `<p>Each end was measured once more while its thread was sampled; a sample belongs to the function it
fell into. <b>waiting</b> is polling while nothing comes, and sleeping; <b>copies</b> and <b>system calls</b> count
wherever they are made. Other names are folders of Verbena.</p>`

export function profileSections({ dir, label, results }: Run, canvas: Canvas): string[] {
  const found = (results as Partial<{ profiles: readonly SocketProfile[] }>).profiles ?? []
  if (found.length === 0) return []
  const several = canvas.runs.length > 1
  const profiles = found.toSorted((a, b) => order(a) - order(b))
  const title = several ? `Where the time went: ${label}` : 'Where the time went'
  const naming = { devices: varies(profiles, 'device'), polls: varies(profiles, 'poll') }
  const graphs = profiles.map((profile, index) => {
    const name = profileName(profile, naming)
    const picture = flameOf(dir, idOf(label, profile, several), profile, name, canvas)
    const details = `${picture}\n${functionTable(profile, `functions-${idOf(label, profile, several)}`)}`
    return index === 0 ? `<h3>${escapeHtml(name)}</h3>\n${details}` : folded(name, details)
  })
  const id = several ? `cost-${label.replace(/\W+/g, '-')}` : 'cost'
  return [section(id, title, PROFILE_TEXT, costTable(profiles, naming, `${id}-table`), ...graphs)]
}

function order({ settings, id, end }: SocketProfile): number {
  const transport = settings.transport === 'tcp' ? 1 : 0
  return (
    transport * 1e12 +
    (settings.test === 'rr' ? 0 : 1e10) +
    Number(settings.size) +
    (end === 'server' ? 0.5 : 0) +
    Number(id) * 1e-6
  )
}

interface Naming {
  /** True if the profiles are of more than one device. */
  devices: boolean
  polls: boolean
}

function profileName({ settings, end }: SocketProfile, { devices, polls }: Naming): string {
  const test = settings.test === 'rr' ? 'TCP_RR' : 'TCP_STREAM'
  const device = devices && settings.device !== undefined ? ` on ${settings.device}` : ''
  const over = settings.transport === 'tcp' ? 'kernel TCP' : `rsocket${device}`
  return `${test}, ${formatBytes(Number(settings.size))}, ${over}${polls ? `, ${settings.poll} polling` : ''}, ${end}`
}

function varies(profiles: readonly SocketProfile[], key: string): boolean {
  return new Set(profiles.flatMap(({ settings }) => settings[key] ?? [])).size > 1
}

function idOf(label: string, { id, end }: SocketProfile, several: boolean): string {
  return `${several ? `${label.replace(/\W+/g, '-')}-` : ''}${id}-${end}`
}

function costTable(profiles: readonly SocketProfile[], naming: Naming, id: string): string {
  const totals = new Map<string, number>()
  for (const { components } of profiles)
    for (const { component, share } of components) totals.set(component, (totals.get(component) ?? 0) + share)
  const names = [...totals].sort((a, b) => b[1] - a[1]).map(([name]) => name)
  const rows = profiles.map((profile): Cell[] => [
    { text: profileName(profile, naming) },
    profile.settings.test === 'rr'
      ? { text: formatRate(profile.messagesPerSecond, '/s'), value: profile.messagesPerSecond, number: true }
      : { text: gigabits(profile.bytesPerSecond), value: profile.bytesPerSecond, number: true },
    ...names.map((name): Cell => {
      const share = profile.components.find(({ component }) => component === name)?.share ?? 0
      return share === 0
        ? NONE
        : { text: formatShare(share), value: share, number: true, bar: { share, colour: componentColour(name) } }
    }),
  ])
  const heads = [
    { text: 'measurement' },
    { text: 'rate', number: true },
    ...names.map((text) => ({ text, number: true })),
  ]
  return table(heads, rows, id)
}

function functionTable({ functions }: SocketProfile, id: string): string {
  const heads = [{ text: 'share', number: true }, { text: 'function' }, { text: 'module' }, { text: 'component' }]
  const rows = functions.map(({ name, module, component, share }): Cell[] => [
    { text: formatShare(share), value: share, number: true },
    { text: name },
    { text: module },
    { text: component },
  ])
  return table(heads, rows, id)
}

function flameOf(dir: string, mark: string, profile: SocketProfile, name: string, canvas: Canvas): string {
  try {
    const root = loadFlame(dir, profile.id, profile.end)
    const file = `flame-${mark}`
    return canvas.picture(file, flameSvg({ name: file, title: name, width: canvas.plot.figure.width, root }))
  } catch (error) {
    if (!(error instanceof ReportError)) throw error
    canvas.notes.push(`No flame graph of ${name}: ${error.message}.`)
    return ''
  }
}
