/**
 * What `layers.json` says about the folders of `src/` and about `bench/`, and whether the imports keep to it.
 *
 * Names are relative to `src/`. A *layer* is a folder (`transport`) with those below it, or each folder below one
 * (`tools/*`); the entry points of package.json, the files directly in `src/`, are the layer `.`. A file belongs to the
 * layer with the longest matching path. For each layer:
 *
 *     is        what it is, in a few words
 *     imports   the layers it may import; `type X` allows type imports only, `X/*` each layer directly below X
 *     doors     the files that other layers may import; index.ts if nothing is said
 *     friends   layers that may import any file of it
 *     packages  the npm packages it may import
 *     pure      true: neither the layer nor anything it imports by value imports a `node:` module or a package
 *
 * A dynamic import, or `createRequire(…)('name')`, is an import like any other, but it closes no circle: what it loads
 * comes later.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { parseSync } from 'rolldown/utils'

export interface Layer {
  is: string
  imports: string[]
  doors?: string[]
  friends?: string[]
  packages?: string[]
  pure?: boolean
}
export type Layers = Record<string, Layer>

export interface Import {
  /** The imported file, or the name of a package or `node:` module. */
  to: string
  kind: 'file' | 'package' | 'node'
  type: boolean
  dynamic: boolean
}
/** The imports of each file. */
export type Graph = Map<string, Import[]>

/** The sources below `root`. */
export function readSources(root: URL): Map<string, string> {
  const paths = ['src', 'bench'].flatMap((folder) =>
    readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  )
  const sources = paths.filter((path) => /\.m?ts$/.test(path)).sort()
  return new Map(sources.map((path) => [nameOf(path), readFileSync(new URL(path, root), 'utf8')]))
}

const nameOf = (path: string): string => path.replace(/^src\//, '')
const pathOf = (name: string): string => (name.startsWith('bench/') ? name : `src/${name}`)

export function graphOf(sources: ReadonlyMap<string, string>): Graph {
  return new Map([...sources].map(([name, text]) => [name, importsOf(name, text)]))
}

function importsOf(name: string, text: string): Import[] {
  const { program, module, errors } = parseSync(name, text)
  if (errors.length > 0) throw new Error(`${name}: ${errors[0]!.message}`)
  const found: Import[] = []
  const add = (specifier: string, type: boolean, dynamic: boolean): void => {
    if (specifier.startsWith('.'))
      found.push({ to: nameOf(posix.join(posix.dirname(pathOf(name)), specifier)), kind: 'file', type, dynamic })
    else if (specifier.startsWith('node:')) found.push({ to: specifier, kind: 'node', type, dynamic })
    else found.push({ to: packageOf(specifier), kind: 'package', type, dynamic })
  }
  for (const node of program.body) {
    if (node.type === 'ImportDeclaration') add(node.source.value, node.importKind === 'type', false)
    else if (node.type === 'ExportAllDeclaration' || node.type === 'ExportNamedDeclaration')
      if (node.source) add(node.source.value, node.exportKind === 'type', false)
  }
  for (const { moduleRequest } of module.dynamicImports) {
    const literal = /^['"](.*)['"]$/.exec(text.slice(moduleRequest.start, moduleRequest.end))
    if (literal) add(literal[1]!, false, true)
  }
  for (const [, specifier] of text.matchAll(/createRequire\([^()]*\)\('([^'.][^']*)'\)/g)) add(specifier!, false, true)
  return found
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

/** The name of the layer of a file, or undefined. Of `tools/*` it is that of the folder, such as `tools/perf`. */
function layerOf(layers: Layers, file: string): string | undefined {
  let folder = posix.dirname(file)
  for (; folder !== '.'; folder = posix.dirname(folder)) {
    if (layers[folder]) return folder
    if (layers[`${posix.dirname(folder)}/*`]) return folder
  }
  return file.includes('/') ? undefined : '.'
}

/** The row of `layers.json` that speaks of a layer: its own, or that of all folders beside it. */
function rowOf(layers: Layers, layer: string): string {
  return layers[layer] ? layer : `${posix.dirname(layer)}/*`
}

/** What `layers.json` says of a layer that `layerOf` named. */
function ruleOf(layers: Layers, layer: string): Layer {
  return layers[rowOf(layers, layer)]!
}

/** One sentence for each import that the layers do not allow, and for each file without a layer. */
export function violations(layers: Layers, graph: Graph): string[] {
  const found: string[] = []
  for (const [file, imports] of graph) {
    const from = layerOf(layers, file)
    if (from === undefined) {
      found.push(`${file}: layers.json has no layer for this folder`)
      continue
    }
    const rule = ruleOf(layers, from)
    for (const { to, kind, type } of imports) {
      if (kind === 'node') continue
      if (kind === 'package') {
        if (!rule.packages?.includes(to)) found.push(`${file}: ${from} may not import the package ${to}`)
        continue
      }
      const target = layerOf(layers, to)
      if (target === from) continue
      if (target === undefined || !graph.has(to)) found.push(`${file}: ${to} is no file of a layer`)
      else if (!allows(rule, target, type))
        found.push(`${file}: ${from} may not import ${type ? 'types of ' : ''}${target} (${to})`)
      else if (!isDoor(layers, from, target, to)) found.push(`${file}: ${to} is not a door of ${target}`)
    }
  }
  return found
}

function allows(rule: Layer, target: string, type: boolean): boolean {
  const names = [target, `${posix.dirname(target)}/*`]
  return names.some((name) => rule.imports.includes(name) || (type && rule.imports.includes(`type ${name}`)))
}

function isDoor(layers: Layers, from: string, target: string, file: string): boolean {
  const { doors = ['index.ts'], friends } = ruleOf(layers, target)
  return friends?.includes(from) || doors.includes(target === '.' ? file : file.slice(target.length + 1))
}

/** For each layer that is called pure and is not: a shortest chain of imports by value to a `node:` module or a package. */
export function impurities(layers: Layers, graph: Graph): string[] {
  const files = new Map<string, string[]>()
  for (const file of graph.keys()) {
    const layer = layerOf(layers, file)
    if (layer === undefined || !ruleOf(layers, layer).pure) continue
    files.set(layer, [...(files.get(layer) ?? []), file])
  }
  return [...files].flatMap(([layer, starts]) => {
    const chain = chainOutside(graph, starts)
    return chain ? [`${layer} is not pure: ${chain.join(' > ')}`] : []
  })
}

function chainOutside(graph: Graph, starts: string[]): string[] | undefined {
  const seen = new Set(starts)
  const queue = starts.map((file) => [file])
  for (let path = queue.shift(); path; path = queue.shift())
    for (const { to, kind, type } of graph.get(path.at(-1)!) ?? []) {
      if (type) continue
      if (kind !== 'file') return [...path, to]
      if (seen.has(to)) continue
      seen.add(to)
      queue.push([...path, to])
    }
  return undefined
}

/** The groups of files that import each other in a circle, type imports included. */
export function circles(graph: Graph): string[][] {
  return components([...graph.keys()], (file) =>
    (graph.get(file) ?? []).filter((one) => one.kind === 'file' && !one.dynamic).map((one) => one.to),
  )
}

/** Circles among the layers as `layers.json` allows them. */
export function layerCircles(layers: Layers): string[][] {
  return components(Object.keys(layers), (name) => targets(layers, name))
}

/** The strongly connected components of more than one node, by Tarjan's algorithm. */
function components(nodes: string[], next: (node: string) => string[]): string[][] {
  const known = new Set(nodes)
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const open: string[] = []
  const found: string[][] = []
  const visit = (node: string): number => {
    const at = order.size
    order.set(node, at)
    low.set(node, at)
    open.push(node)
    for (const other of next(node)) {
      if (!known.has(other)) continue
      if (!order.has(other)) low.set(node, Math.min(low.get(node)!, visit(other)))
      else if (open.includes(other)) low.set(node, Math.min(low.get(node)!, order.get(other)!))
    }
    if (low.get(node) === at) {
      const group = open.splice(open.indexOf(node))
      if (group.length > 1 || next(node).includes(node)) found.push(group.sort())
    }
    return low.get(node)!
  }
  for (const node of nodes) if (!order.has(node)) visit(node)
  return found
}

function targets(layers: Layers, name: string): string[] {
  return layers[name]!.imports.flatMap((one) => meant(layers, one)).filter((one) => one !== name)
}

/** The layers that an entry of `imports` names. */
function meant(layers: Layers, entry: string): string[] {
  const name = entry.replace(/^type /, '')
  if (!name.endsWith('/*')) return [rowOf(layers, name)]
  return Object.keys(layers).filter((one) => one === name || posix.dirname(one) === posix.dirname(name))
}

/** What `layers.json` names and there is not, and what it allows and nothing uses. */
export function leftovers(layers: Layers, graph: Graph): string[] {
  const used = new Set<string>()
  const packages = new Set<string>()
  for (const [file, imports] of graph) {
    const from = layerOf(layers, file)
    if (from === undefined) continue
    const row = rowOf(layers, from)
    used.add(row)
    for (const { to, kind, type } of imports) {
      if (kind === 'package') packages.add(`${row} ${to}`)
      const target = kind === 'file' ? layerOf(layers, to) : undefined
      if (target === undefined || target === from) continue
      for (const name of [target, rowOf(layers, target)]) {
        used.add(`${row} > ${name}`)
        if (!type) used.add(`${row} > value ${name}`)
      }
    }
  }
  const found: string[] = []
  for (const [name, { imports, packages: own = [] }] of Object.entries(layers)) {
    if (!used.has(name)) found.push(`${name} has no file`)
    for (const one of imports) {
      const target = one.replace(/^type /, '')
      const row = rowOf(layers, target)
      if (!layers[row] || row === name) found.push(`${name} imports ${target}, which is no other layer`)
      else if (!used.has(`${name} > ${target}`)) found.push(`${name} does not import ${target}`)
      else if (one === target && !used.has(`${name} > value ${target}`))
        found.push(`${name} imports only types of ${target}`)
    }
    for (const one of own) if (!packages.has(`${name} ${one}`)) found.push(`${name} does not import the package ${one}`)
  }
  return found
}

/** The layers from the top down: each stands above all that it imports. */
export function ranks(layers: Layers): string[][] {
  const rank = new Map<string, number>()
  const rankOf = (name: string): number => {
    const known = rank.get(name)
    if (known !== undefined) return known
    const below = targets(layers, name)
      .filter((one) => layers[one])
      .map(rankOf)
    const own = Math.max(-1, ...below) + 1
    rank.set(name, own)
    return own
  }
  const rows: string[][] = []
  for (const name of Object.keys(layers)) {
    const at = rankOf(name)
    rows[at] = [...(rows[at] ?? []), name]
  }
  return rows.reverse()
}

const shown = (name: string): string => (name === '.' ? 'index.ts …' : name)

/** The part of docs/internals/layers.md that is drawn from `layers.json`: a row for each rank, and the table. */
export function draw(layers: Layers): string {
  const picture = ranks(layers).map((row) => row.map((name) => box(shown(name), layers[name]!.pure)).join('   '))
  const lines = ['```', ...picture.flatMap((row, at) => (at === 0 ? [row] : ['', row])), '```', '']
  lines.push('| layer | what it is | may import |', '| --- | --- | --- |')
  for (const row of ranks(layers))
    for (const name of row) {
      const { is, imports, packages = [], pure } = layers[name]!
      const allowed = imports.map((one) => (one.startsWith('type ') ? `types of ${shown(one.slice(5))}` : shown(one)))
      allowed.push(...packages.map((one) => `npm: ${one}`))
      lines.push(`| \`${shown(name)}\` | ${is}${pure ? '. *Pure*' : ''} | ${allowed.join(', ') || 'nothing'} |`)
    }
  return lines.join('\n')
}

const box = (name: string, pure = false): string => (pure ? `( ${name} )` : `[ ${name} ]`)

const begin = '<!-- drawn from layers.json: begin -->'
const end = '<!-- drawn from layers.json: end -->'

/** `text` with what stands between the two comments replaced by the drawing. */
export function withDrawing(text: string, layers: Layers): string {
  const from = text.indexOf(begin)
  const to = text.indexOf(end)
  if (from < 0 || to < from) throw new Error(`docs/internals/layers.md has no "${begin}" … "${end}"`)
  return `${text.slice(0, from + begin.length)}\n${draw(layers)}\n${text.slice(to)}`
}

export function readLayers(file: URL): Layers {
  if (!existsSync(file)) throw new Error(`${file.pathname} is missing`)
  return (JSON.parse(readFileSync(file, 'utf8')) as { layers: Layers }).layers
}
