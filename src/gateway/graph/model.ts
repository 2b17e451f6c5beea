/** Model of a drawing of a gateway: its nodes, its paths, and the connections between them. */
import { type GatewayConfig, mappingText, type PathConfig } from '../index.ts'

export interface GraphNode {
  readonly name: string
  /** Type of the node, and other facts that are worth a line. */
  readonly lines: readonly string[]
  readonly enabled: boolean
}

export interface GraphPath {
  readonly title: string
  readonly lines: readonly string[]
  readonly enabled: boolean
  /** Sources of the path. `masked`: samples from there do not make the path go on. */
  readonly from: readonly { readonly node: string; readonly masked: boolean }[]
  readonly to: readonly string[]
}

export interface GraphModel {
  readonly nodes: readonly GraphNode[]
  readonly paths: readonly GraphPath[]
}

/** Returns the model. `states`: of nodes by name and of paths by UUID, where a gateway runs. */
export function graphOf(config: GatewayConfig, states: ReadonlyMap<string, string> = new Map()): GraphModel {
  const nodes = config.nodes.map(({ name, type, enabled, in: { signals, hooks }, out }) => ({
    name,
    enabled,
    lines: [
      type,
      ...some(signals?.length, 'signal'),
      ...hooksLine('in', hooks),
      ...hooksLine('out', out.hooks),
      ...(states.has(name) ? [states.get(name)!] : []),
      ...(enabled ? [] : ['not enabled']),
    ],
  }))
  return { nodes, paths: config.paths.map((path, i) => graphPath(path, i, states.get(path.uuid))) }
}

function graphPath(path: PathConfig, index: number, state: string | undefined): GraphPath {
  const { in: sources, out, mode, mask, rateHz, hooks, enabled } = path
  const names = [...new Set(sources.map(({ node }) => node))]
  const parts = sources.map(mappingText)
  const isWhole = sources.every((source) => source.what === 'data' && source.range === null)
  const lines = [
    ...(isWhole ? [] : parts),
    ...(names.length > 1 || mode === 'all' ? [`mode ${mode}`] : []),
    ...(rateHz > 0 ? [`${rateHz} per second`] : []),
    ...hooksLine('', hooks),
    ...(state === undefined ? [] : [state]),
    ...(enabled ? [] : ['not enabled']),
  ]
  const from = names.map((node) => ({ node, masked: mask !== null && !mask.includes(node) }))
  return { title: `path ${index}`, lines, enabled, from, to: out }
}

function some(count: number | undefined, word: string): string[] {
  return count === undefined ? [] : [`${count} ${word}${count === 1 ? '' : 's'}`]
}

function hooksLine(of: string, hooks: PathConfig['hooks']): string[] {
  const types = hooks.filter(({ enabled }) => enabled).map(({ type }) => type)
  return types.length === 0 ? [] : [`${of === '' ? '' : `${of}: `}${types.join(', ')}`]
}
