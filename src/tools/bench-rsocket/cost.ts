/**
 * Cost breakdown of a profile: each sample belongs to one component, by the function that it fell into:
 *
 *     copies              memory.copy of the segment (the WebAssembly module), and lines of ours that call `set`, `fill`
 *                         or `copyWithin` of a typed array
 *     system calls        functions of the C library, called through koffi
 *     CRC                 functions that sum over packets
 *     waiting             polling while nothing arrives, and sleeping: functions called from a function that waits, unless
 *                         they are one of the above or the handling of packets
 *     rsocket, verbs, …   the folders of Verbena
 *
 * V8 attributes the samples of a C function that it does not know (memmove) to the JavaScript function that called it;
 * only the line identifies them. It gives the lines for the whole profile, so a function's samples are divided by them.
 */
import type { FlameNode } from '../../report/index.ts'
import type { CpuProfile, ProfileNode } from './profiler.ts'

export interface Cost {
  samples: number
  /** Shares of the components, together 1, the largest first. */
  components: { component: string; share: number }[]
  functions: { name: string; module: string; component: string; share: number }[]
  root: FlameNode
}

/** Returns the text of a line of a file, counted from 1; empty if it cannot be read. */
export type SourceLine = (url: string, line: number) => string

/** Returns `rsocket/send-side` for a line of that module of Verbena; undefined for a line of another program. */
export type ModuleAt = (url: string, line: number) => string | undefined

const mostFunctions = 15

/** Node of the profile. `url` names the module of Verbena, as `verbena:/rsocket/send-side`; `file` is the file that has its lines. */
type Located = ProfileNode & { file: string }

/** Computes the breakdown. `asleep` is the share of the time that the thread slept in system calls; 0 where it did not sleep there. */
export function costOf(
  profile: CpuProfile,
  name: string,
  moduleAt: ModuleAt,
  sourceLine: SourceLine,
  asleep: number = 0,
): Cost {
  const nodes = new Map(profile.nodes.map((node) => [node.id, located(node, moduleAt)]))
  const counts = new Map<number, number>()
  for (const id of profile.samples) counts.set(id, (counts.get(id) ?? 0) + 1)
  const root: FlameNode = { name, module: '', component: 'benchmark', samples: 0, children: [] }
  const walk = (node: Located, parent: FlameNode, waiting: boolean, caller: string): void => {
    const waits = waiting || isWait(node)
    const frame = frameOf(node, waits, caller)
    const into = isRoot(node) ? parent : child(parent, frame)
    const self = counts.get(node.id) ?? 0
    const copied = Math.round(self * copyShare(node, sourceLine))
    into.samples += self
    if (copied > 0) {
      const copy = { name: 'copy of a typed array', module: 'V8', component: 'copies', samples: 0, children: [] }
      child(into, copy).samples += copied
    }
    for (const id of node.children ?? []) {
      const next = nodes.get(id)
      if (next) walk(next, into, waits, node.callFrame.url)
    }
  }
  const top = nodes.get(profile.nodes[0]?.id ?? -1)
  if (top) walk(top, root, false, '')
  settle(root)
  const self = selves(root)
  const { samples } = root
  const components = new Map<string, number>()
  for (const frame of self) components.set(frame.component, (components.get(frame.component) ?? 0) + frame.samples)
  shift(components, 'system calls', 'waiting', asleep * samples)
  const share = (count: number): number => (samples > 0 ? count / samples : 0)
  return {
    samples,
    components: [...components]
      .map(([component, count]) => ({ component, share: share(count) }))
      .filter((entry) => entry.share > 0)
      .sort((a, b) => b.share - a.share),
    functions: self.slice(0, mostFunctions).map(({ samples: count, ...frame }) => ({ ...frame, share: share(count) })),
    root,
  }
}

function located(node: ProfileNode, moduleAt: ModuleAt): Located {
  const { url, lineNumber } = node.callFrame
  // The profiler counts lines of functions from 0, but lines with samples from 1.
  const module = moduleAt(url, lineNumber + 1)
  return {
    ...node,
    file: url,
    callFrame: { ...node.callFrame, url: module === undefined ? url : `verbena:/${module}` },
  }
}

function shift(counts: Map<string, number>, from: string, to: string, most: number): void {
  const moved = Math.min(counts.get(from) ?? 0, most)
  if (!(moved > 0)) return
  counts.set(from, counts.get(from)! - moved)
  counts.set(to, (counts.get(to) ?? 0) + moved)
}

/** True for the frames at the foot of every profile, which start the thread's loop. */
function isRoot({ callFrame }: ProfileNode): boolean {
  const { functionName, url } = callFrame
  return functionName === '(root)' || /^node:(internal|events)|\/kit\/peer$|\/socket-end$/.test(url)
}

/** True for a function of Verbena that polls or sleeps until data arrives. */
function isWait({ callFrame }: ProfileNode): boolean {
  return (
    /^(carryOn|#?wait\w*|#?sleep\w*)$/.test(callFrame.functionName) && /\/(bench-rsocket|rsocket)\//.test(callFrame.url)
  )
}

/** Components whose samples in a wait belong to the wait itself. */
const polling = new Set(['benchmark', 'rsocket', 'verbs', 'shm', 'memory', 'cm'])

/** Returns the frame of a node. `caller` is the file of the function that called it. */
function frameOf({ callFrame }: ProfileNode, waiting: boolean, caller: string): FlameNode {
  const { functionName, url } = callFrame
  const { name, module, component } = named(functionName, url, caller)
  const what = waiting && polling.has(component) ? 'waiting' : component
  return { name, module, component: what, samples: 0, children: [] }
}

function named(functionName: string, url: string, caller: string): Omit<FlameNode, 'samples' | 'children'> {
  const name = functionName || '(anonymous)'
  // All functions of an addon share one entry, to which V8 gives the name that it met first.
  if (url === '' && /\/memory\/native\//.test(caller)) {
    if (/\/crc32$/.test(caller)) return { name: 'CRC-32', module: 'library of the system', component: 'CRC' }
    const component = /\/poll$/.test(caller) ? 'waiting' : 'system calls'
    return { name: 'system call', module: 'C library', component }
  }
  if (url.startsWith('wasm:')) return { name: 'memory.copy', module: 'WebAssembly', component: 'copies' }
  if (/crc/i.test(functionName)) return { name, module: moduleOf(url) || 'Node.js', component: 'CRC' }
  if (functionName === '(garbage collector)') return { name, module: 'V8', component: 'garbage collection' }
  if (functionName === '(idle)') return { name, module: 'Node.js', component: 'waiting' }
  if (functionName === 'hrtime') return { name, module: 'Node.js', component: 'clock' }
  if (functionName.startsWith('(') || url.startsWith('node:')) return { name, module: 'Node.js', component: 'Node.js' }
  if (url === '') return { name: 'system call', module: 'C library', component: 'system calls' }
  return { name, module: moduleOf(url), component: componentOf(url) }
}

const folders: Readonly<Record<string, string>> = { tools: 'benchmark', node: 'rsocket' }

function componentOf(url: string): string {
  if (url === 'verbena:/memory/clock') return 'clock'
  const folder = /^verbena:\/(?:devices\/)?(\w+)\//.exec(url)?.[1]
  return folder === undefined ? 'other' : (folders[folder] ?? folder)
}

/** Returns the module of Verbena, or the name of another file. */
function moduleOf(url: string): string {
  return /^verbena:\/(.+)$/.exec(url)?.[1] ?? url.slice(url.lastIndexOf('/') + 1)
}

/** Returns the share of a function's own samples that fell into lines which copy typed arrays. */
function copyShare({ callFrame, file, positionTicks }: Located, sourceLine: SourceLine): number {
  if (!positionTicks || !/\/(rsocket|verbs|devices|memory|transport)\//.test(callFrame.url)) return 0
  let all = 0
  let copies = 0
  for (const { line, ticks } of positionTicks) {
    all += ticks
    if (/\.(set|fill|copyWithin)\(/.test(sourceLine(file, line))) copies += ticks
  }
  return all > 0 ? copies / all : 0
}

/** Returns the callee of a frame: calls of the same function from the same call site are one frame. */
function child(parent: FlameNode, frame: FlameNode): FlameNode {
  const found = parent.children.find(
    ({ name, module, component }) => name === frame.name && module === frame.module && component === frame.component,
  )
  if (found) return found
  parent.children.push(frame)
  return frame
}

/** Adds the samples of callees to each frame, removes those without samples, and puts the largest first. */
function settle(frame: FlameNode): void {
  let copies = 0
  for (const callee of frame.children) {
    // These samples were counted as the caller's own.
    if (callee.module === 'V8' && callee.component === 'copies') copies += callee.samples
    settle(callee)
  }
  frame.samples += frame.children.reduce((sum, { samples }) => sum + samples, 0) - copies
  frame.children = frame.children.filter(({ samples }) => samples > 0).sort((a, b) => b.samples - a.samples)
}

type Self = Omit<FlameNode, 'children'>

/** Returns the samples of each function itself, in descending order. */
function selves(root: FlameNode): Self[] {
  const found = new Map<string, Self>()
  const visit = ({ name, module, component, samples, children }: FlameNode): void => {
    const own = samples - children.reduce((sum, callee) => sum + callee.samples, 0)
    if (own > 0) {
      const key = `${component} ${module} ${name}`
      const entry = found.get(key) ?? { name, module, component, samples: 0 }
      entry.samples += own
      found.set(key, entry)
    }
    for (const callee of children) visit(callee)
  }
  visit(root)
  return [...found.values()].sort((a, b) => b.samples - a.samples)
}
