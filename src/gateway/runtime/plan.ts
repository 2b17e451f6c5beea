/**
 * A configuration, checked to the end and made ready to run: its nodes are parsed by their types, all signals are known, and the paths
 * are in groups, each of which gets a thread. Paths that read the same node are in one group, and so are paths that use a node
 * whose two directions cannot be in two threads.
 */

import { loadHookTypes } from '../host/index.ts'
import {
  commonOfNode,
  type GatewayConfig,
  GatewayError,
  type HookConfig,
  type HookOptions,
  hooksOf,
  mostSignals,
  type NodeConfig,
  type ParsedNode,
  type PathConfig,
  type PlaceOf,
  pathText,
  resolveMapping,
  type Signal,
  SignalType,
  settingsOfNode,
} from '../index.ts'
import { loadNodeType } from '../nodes/index.ts'
import { hookContext } from './hook-context.ts'
import type { GroupNode, GroupPath } from './messages.ts'

/** Values of a sample whose signals are not known, as in VILLASnode. */
export const usualValues = 64
const anySignals: readonly Signal[] = Array.from({ length: usualValues }, (_, i) => ({
  name: `signal${i}`,
  unit: '',
  type: SignalType.float,
  assumed: true,
}))
/** Samples that a path or node may have besides those of its queues: batches, last values, copies for hooks. */
const spareSamples = 16

export interface Plan {
  readonly config: GatewayConfig
  readonly nodes: ReadonlyMap<string, PlannedNode>
  readonly groups: readonly PlannedGroup[]
  /** Samples that the pool has, a power of 2, and values of each. */
  readonly poolSize: number
  readonly values: number
  /** Name of the verbs device in whose memory the pool is; undefined: in any memory. */
  readonly device: string | undefined
}

export interface PlannedNode {
  readonly config: NodeConfig
  readonly parsed: ParsedNode
}

export interface PlannedGroup {
  readonly nodes: readonly Omit<GroupNode, 'shared' | 'watch'>[]
  readonly paths: readonly GroupPath[]
  readonly affinity: number
}

/** Makes a plan. Throws a `GatewayError` for the first thing that is not possible. */
export async function makePlan(config: GatewayConfig, placeOf?: PlaceOf): Promise<Plan> {
  const nodes = new Map<string, PlannedNode>()
  for (const node of config.nodes) if (node.enabled) nodes.set(node.name, await parseNode(node, placeOf))
  const paths = config.paths.filter(({ enabled }) => enabled)
  for (const path of paths) checkUse(path, nodes)
  const types = await loadHookTypes(hooksIn(config))
  const signals = new SignalFinder(nodes, paths, { types, ...(placeOf && { placeOf }) })
  const groups = groupsOf(paths, nodes).map((members) => planGroup(members, nodes, signals, config.affinity))
  const used = groups.flatMap((group) => group.nodes.map(({ config: { name } }) => nodes.get(name)!.parsed))
  // Nodes of other devices copy from and to it.
  const device = used.find(({ memory }) => memory !== undefined)?.memory
  return { config, nodes, groups, poolSize: poolSize(paths, nodes), values: signals.mostValues, device }
}

/** Returns all hooks of a configuration. */
export function hooksIn({ nodes, paths }: Pick<GatewayConfig, 'nodes' | 'paths'>): HookConfig[] {
  return [
    ...nodes.flatMap(({ in: { hooks }, out }) => [...hooks, ...out.hooks]),
    ...paths.flatMap(({ hooks }) => hooks),
  ]
}

async function parseNode(config: NodeConfig, placeOf: PlaceOf | undefined): Promise<PlannedNode> {
  const reader = settingsOfNode(config, placeOf)
  const type = await loadNodeType(config.type).catch((error: unknown) => {
    if (!(error instanceof GatewayError)) throw error
    return reader.fail(`node ${config.name}: ${error.message}`, 'type')
  })
  const parsed = type.parse(reader, commonOfNode(config))
  reader.done()
  return { config, parsed }
}

/** Checks that nodes that a path reads are sources, and those that it writes are destinations. */
function checkUse(path: PathConfig, nodes: ReadonlyMap<string, PlannedNode>): void {
  const refuse = (name: string, what: string): never => {
    throw new GatewayError('ERR_GATEWAY_SETTING', `path ${pathText(path)}: node '${name}' ${what}`)
  }
  for (const { node: name } of path.in) {
    const { parsed, config } = nodes.get(name)!
    if (!parsed.reads) refuse(name, `(${config.type}) cannot be read from as it is configured`)
    if (!config.in.enabled) refuse(name, 'is not enabled for reading (in.enabled)')
  }
  for (const name of path.out) {
    const { parsed, config } = nodes.get(name)!
    if (!parsed.writes) refuse(name, `(${config.type}) cannot be written to as it is configured`)
    if (!config.out.enabled) refuse(name, 'is not enabled for writing (out.enabled)')
  }
}

/** Returns groups of paths that have to be in one thread. */
function groupsOf(paths: readonly PathConfig[], nodes: ReadonlyMap<string, PlannedNode>): PathConfig[][] {
  const groups: { paths: PathConfig[]; uses: Set<string> }[] = []
  for (const path of paths) {
    const use = (name: string, direction: string): string =>
      nodes.get(name)!.parsed.splits ? `${name} ${direction}` : name
    const uses = new Set([...path.in.map(({ node }) => use(node, 'in')), ...path.out.map((name) => use(name, 'out'))])
    const joined = groups.filter((group) => [...group.uses].some((each) => uses.has(each)))
    for (const group of joined) groups.splice(groups.indexOf(group), 1)
    groups.push({
      paths: [...joined.flatMap((group) => group.paths), path],
      uses: new Set([...joined.flatMap((group) => [...group.uses]), ...uses]),
    })
  }
  return groups.map((group) => group.paths)
}

function planGroup(
  paths: readonly PathConfig[],
  nodes: ReadonlyMap<string, PlannedNode>,
  signals: SignalFinder,
  usualAffinity: number,
): PlannedGroup {
  const sources = new Set(paths.flatMap((path) => path.in.map(({ node }) => node)))
  const destinations = new Set(paths.flatMap((path) => path.out))
  const names = [...new Set([...sources, ...destinations])]
  // The hooks of a path that leads nowhere have to be right, too.
  for (const path of paths) signals.afterPath(path)
  for (const name of names) {
    const directions = { in: sources.has(name), out: destinations.has(name) }
    nodes.get(name)!.parsed.check?.({ in: signals.ofNode(name), out: signals.written(name) }, directions)
  }
  return {
    nodes: names.map((name) => ({
      config: nodes.get(name)!.config,
      directions: { in: sources.has(name), out: destinations.has(name) },
      signals: { in: signals.ofNode(name), out: signals.written(name) },
      arriving: signals.arriving(name),
      mirrors: nodes.get(name)!.parsed.mirrors === true,
      isWritten: signals.isWritten(name),
      seen: sources.has(name) ? signals.leaving(name) : signals.written(name),
    })),
    paths: paths.map((config) => ({ config, signals: signals.intoPath(config) })),
    affinity: paths.findLast(({ affinity }) => affinity !== 0)?.affinity ?? usualAffinity,
  }
}

/** Returns the number of samples such that there is one for each place in which a sample may rest. */
function poolSize(paths: readonly PathConfig[], nodes: ReadonlyMap<string, PlannedNode>): number {
  let samples = 0
  for (const { queueLength, out } of paths) samples += queueLength * Math.max(1, out.length) + spareSamples
  for (const { parsed, config } of nodes.values())
    samples += (parsed.keeps ?? 0) + 2 * (config.in.vectorize + config.out.vectorize) + spareSamples
  return 2 ** Math.ceil(Math.log2(Math.max(samples, 64)))
}

/** Signals everywhere: they go from nodes through hooks and mappings to other nodes, and in again where a node mirrors. */
class SignalFinder {
  mostValues = 1
  readonly #nodes: ReadonlyMap<string, PlannedNode>
  readonly #paths: readonly PathConfig[]
  readonly #options: HookOptions
  readonly #asked = new Set<string>()

  constructor(nodes: ReadonlyMap<string, PlannedNode>, paths: readonly PathConfig[], options: HookOptions) {
    this.#nodes = nodes
    this.#paths = paths
    this.#options = options
  }

  /** Returns the signals of what is read from a node, before its hooks. */
  ofNode(name: string): readonly Signal[] {
    const { parsed } = this.#nodes.get(name)!
    if (parsed.signals !== null) return this.#noted(parsed.signals)
    // In a circle of mirrors, no signals are known.
    if (!parsed.mirrors || this.#asked.has(name)) return this.#noted(anySignals)
    this.#asked.add(name)
    const found = this.written(name)
    this.#asked.delete(name)
    return found
  }

  /** Returns the signals that a path gets from its sources. */
  intoPath(path: PathConfig): readonly Signal[] {
    return this.#noted(path.in.flatMap((mapping) => resolveMapping(mapping, this.leaving(mapping.node)).signals))
  }

  isWritten(name: string): boolean {
    return this.#paths.some(({ out }) => out.includes(name))
  }

  /** Returns the signals that paths write to a node, before its hooks. */
  arriving(name: string): readonly Signal[] {
    const path = this.#paths.find(({ out }) => out.includes(name))
    return path === undefined ? (this.#nodes.get(name)!.parsed.signals ?? anySignals) : this.afterPath(path)
  }

  /** Returns the signals that leave a path. */
  afterPath(path: PathConfig): readonly Signal[] {
    return this.#after(`path ${pathText(path)}`, path.hooks, this.intoPath(path), false)
  }

  /** Returns the signals that the node gets to write. */
  written(name: string): readonly Signal[] {
    const { out } = this.#nodes.get(name)!.config
    return this.#after(`node ${name}`, out.hooks, this.arriving(name), false)
  }

  /** Returns the signals of what is read from a node, after its hooks. */
  leaving(name: string): readonly Signal[] {
    const { hooks, builtin } = this.#nodes.get(name)!.config.in
    return this.#after(`node ${name}`, hooks, this.ofNode(name), builtin)
  }

  #after(
    owner: string,
    hooks: NodeConfig['in']['hooks'],
    signals: readonly Signal[],
    builtin: boolean,
  ): readonly Signal[] {
    const context = hookContext({ owner, signals, values: mostSignals, stamp: () => {}, nowNs: () => 0, log: () => {} })
    const chain = hooksOf(hooks, context, { ...this.#options, builtin })
    this.mostValues = Math.max(this.mostValues, chain.values)
    return chain.signals
  }

  #noted(signals: readonly Signal[]): readonly Signal[] {
    this.mostValues = Math.max(this.mostValues, signals.length)
    return signals
  }
}
