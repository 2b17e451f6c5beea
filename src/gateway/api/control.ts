/**
 * A running gateway as the API sees it: what it is configured to do, what of that is stopped for now, and changes of both. A change is
 * checked as a whole before anything happens; threads in which nothing changes go on.
 */
import {
  type GatewayConfig,
  GatewayError,
  isGroup,
  mappingText,
  type NodeConfig,
  nodeName,
  type PathConfig,
  type Settings,
} from '../index.ts'
import { checkSettings } from '../load/index.ts'
import type { NodeStatus, PathStatus, SuperNode } from '../runtime/index.ts'

/** What a caller asked for and cannot have: an HTTP status, and why. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: 400 | 404 | 409
  readonly details: readonly string[]

  constructor(status: 400 | 404 | 409, message: string, details: readonly string[] = []) {
    super(message)
    this.status = status
    this.details = details
  }
}

/** What is changed together. */
interface Wanted {
  settings: Settings
  /** Names of nodes that are stopped or paused, and UUIDs of paths that are stopped, for now. */
  stopped: Set<string>
  paused: Set<string>
  stoppedPaths: Set<string>
}

export class GatewayControl {
  readonly gateway: SuperNode
  #wanted: Wanted
  #config: GatewayConfig

  /** `gateway`: started, with `watched`. */
  constructor(gateway: SuperNode) {
    this.gateway = gateway
    const { settings, uuid } = gateway.config
    // With its UUID, which those of nodes and paths come from, a gateway stays the same when its settings change.
    this.#wanted = {
      settings: { ...structuredClone(settings), uuid },
      stopped: new Set(),
      paused: new Set(),
      stoppedPaths: new Set(),
    }
    this.#config = checkSettings(this.#wanted.settings).config
  }

  get config(): GatewayConfig {
    return this.#config
  }

  /** Settings without what should not be seen. */
  get settings(): unknown {
    return redacted(this.#wanted.settings)
  }

  nodes(): unknown[] {
    const running = new Map(this.gateway.nodes().map((status) => [status.name, status]))
    return this.#config.nodes.map((node) => this.#nodeDocument(node, running.get(node.name)))
  }

  node(nameOrUuid: string): unknown {
    const node = this.findNode(nameOrUuid)
    const status = this.gateway.nodes().find(({ name }) => name === node.name)
    return { ...this.#nodeDocument(node, status), config: redacted(node.settings) }
  }

  paths(): unknown[] {
    const running = new Map(this.gateway.paths().map((status) => [status.uuid, status]))
    return this.#config.paths.map((path) => pathDocument(path, running.get(path.uuid)))
  }

  path(uuid: string): unknown {
    const path = this.#findPath(uuid)
    const status = this.gateway.paths().find((each) => each.uuid === path.uuid)
    return { ...pathDocument(path, status), config: redacted(path.settings) }
  }

  findNode(nameOrUuid: string): NodeConfig {
    const found = this.#config.nodes.find(({ name, uuid }) => name === nameOrUuid || uuid === nameOrUuid.toLowerCase())
    if (found === undefined) throw new ApiError(404, `there is no node '${nameOrUuid}'`)
    return found
  }

  /** States of nodes by name, and of paths by UUID. */
  states(): Map<string, string> {
    return new Map([
      ...this.#config.nodes.map(({ name }) => [name, this.stateOf(name)] as const),
      ...this.gateway.paths().map(({ uuid, state }) => [uuid, state] as const),
    ])
  }

  stateOf(name: string): string {
    if (this.#wanted.paused.has(name)) return 'paused'
    if (this.#wanted.stopped.has(name)) return 'stopped'
    return this.gateway.nodes().find((node) => node.name === name)?.state ?? 'initialized'
  }

  /** What `action` of a node is. Its paths run only while all of their nodes do. */
  async actOnNode(nameOrUuid: string, action: 'start' | 'stop' | 'pause' | 'resume' | 'restart'): Promise<void> {
    const { name } = this.findNode(nameOrUuid)
    await this.#change(
      (wanted) => {
        wanted.paused.delete(name)
        wanted.stopped.delete(name)
        if (action === 'stop') wanted.stopped.add(name)
        if (action === 'pause') wanted.paused.add(name)
      },
      action === 'restart' ? [name] : [],
    )
  }

  async rewind(nameOrUuid: string): Promise<void> {
    const { name, type } = this.findNode(nameOrUuid)
    if (type !== 'file') throw new ApiError(409, `node '${name}' is of type ${type}; only a file can be rewound`)
    await this.#change(() => {}, [name])
  }

  async actOnPath(uuid: string, action: 'start' | 'stop'): Promise<void> {
    const path = this.#findPath(uuid)
    await this.#change(({ stoppedPaths }) => {
      if (action === 'stop') stoppedPaths.add(path.uuid)
      else stoppedPaths.delete(path.uuid)
    })
  }

  /** Adds a node, or takes another one's place. Returns whether it is new. */
  async putNode(name: string, settings: unknown): Promise<boolean> {
    if (!nodeName.test(name)) throw new ApiError(400, `'${name}' is no name of a node: 2 to 32 of a-z, 0-9, _ and -`)
    const isNew = !this.#config.nodes.some((node) => node.name === name)
    await this.#change((wanted) => {
      groupIn(wanted.settings, 'nodes')[name] = groupOf(settings)
    })
    return isNew
  }

  /** A node that a path has cannot go. */
  async deleteNode(nameOrUuid: string): Promise<void> {
    const { name } = this.findNode(nameOrUuid)
    const used = this.#config.paths.find(({ in: sources, out }) =>
      [...sources.map(({ node }) => node), ...out].includes(name),
    )
    if (used !== undefined) throw new ApiError(409, `path ${used.uuid} has node '${name}'; delete the path first`)
    await this.#change((wanted) => {
      delete groupIn(wanted.settings, 'nodes')[name]
      wanted.stopped.delete(name)
      wanted.paused.delete(name)
    })
  }

  /** Adds a path; returns its UUID. */
  async postPath(settings: unknown): Promise<string> {
    const before = new Set(this.#config.paths.map(({ uuid }) => uuid))
    await this.#change((wanted) => {
      pathsIn(wanted.settings).push(groupOf(settings))
    })
    return this.#config.paths.find(({ uuid }) => !before.has(uuid))!.uuid
  }

  /** Takes the place of a path. It keeps its UUID. */
  async putPath(uuid: string, settings: unknown): Promise<void> {
    const index = this.#indexOf(uuid)
    await this.#change((wanted) => {
      pathsIn(wanted.settings)[index] = { ...groupOf(settings), uuid: this.#findPath(uuid).uuid }
    })
  }

  /** With its reverse one, if it has one. */
  async deletePath(uuid: string): Promise<void> {
    const index = this.#indexOf(uuid)
    await this.#change((wanted) => {
      pathsIn(wanted.settings).splice(index, 1)
    })
  }

  /** Starts everything anew, with other settings if there are any. */
  async restart(settings?: unknown): Promise<void> {
    const { uuid } = this.#config
    await this.#change(
      (wanted) => {
        if (settings !== undefined) wanted.settings = { uuid, ...groupOf(settings) }
        for (const set of [wanted.stopped, wanted.paused, wanted.stoppedPaths]) set.clear()
      },
      this.#config.nodes.map(({ name }) => name),
    )
  }

  async #change(edit: (wanted: Wanted) => void, again: readonly string[] = []): Promise<void> {
    const { settings, stopped, paused, stoppedPaths } = this.#wanted
    const wanted: Wanted = {
      settings: structuredClone(settings),
      stopped: new Set(stopped),
      paused: new Set(paused),
      stoppedPaths: new Set(stoppedPaths),
    }
    edit(wanted)
    const { config, errors } = checkSettings(wanted.settings)
    const messages = errors.map(({ message }) => message)
    if (messages.length > 0) throw new ApiError(400, messages[0]!, messages)
    try {
      await this.gateway.change(effective(config, wanted), { again })
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      throw new ApiError(error.code === 'ERR_GATEWAY_NODE' ? 409 : 400, error.message, [error.message])
    }
    this.#wanted = wanted
    this.#config = config
  }

  #nodeDocument(node: NodeConfig, status: NodeStatus | undefined): Record<string, unknown> {
    const { name, uuid, type, enabled, in: input, out } = node
    const direction = ({ vectorize, hooks, signals }: NodeConfig['in']) => ({
      vectorize,
      hooks: hooks.map((hook) => hook.type),
      ...(signals !== null && { signals }),
    })
    const seen = this.gateway.watch(name)
    return {
      ...{ name, uuid, type, enabled, state: this.stateOf(name), in: direction(input), out: direction(out) },
      // Of what passes it now; a browser plots them.
      signals: (seen?.signals ?? input.signals ?? []).map((signal) => ({ name: signal.name, unit: signal.unit })),
      counts: status?.counts ?? {},
    }
  }

  #findPath(uuid: string): PathConfig {
    const found = this.#config.paths.find((path) => path.uuid === uuid.toLowerCase())
    if (found === undefined) throw new ApiError(404, `there is no path '${uuid}'`)
    return found
  }

  /** Of a path in the list of the settings, where a path and its reverse one are the same. */
  #indexOf(uuid: string): number {
    return pathsIn(this.#config.settings).indexOf(this.#findPath(uuid).settings)
  }
}

/** What is to run now. */
function effective(config: GatewayConfig, { stopped, paused, stoppedPaths }: Wanted): GatewayConfig {
  const isOff = (name: string) => stopped.has(name) || paused.has(name)
  const paths = config.paths.map((path) => {
    const off = stoppedPaths.has(path.uuid) || path.in.some(({ node }) => isOff(node)) || path.out.some(isOff)
    return off ? { ...path, enabled: false } : path
  })
  return { ...config, paths }
}

function pathDocument(path: PathConfig, status: PathStatus | undefined): Record<string, unknown> {
  const { uuid, enabled, in: sources, out, mode, mask, rateHz, hooks, queueLength, reversed } = path
  return {
    ...{ uuid, enabled, mode, mask, out, rate: rateHz, queuelen: queueLength, reversed },
    state: status?.state ?? 'stopped',
    in: sources.map(mappingText),
    hooks: hooks.map(({ type }) => type),
    counts: status?.counts ?? {},
  }
}

function groupIn(settings: Settings, key: string): Settings {
  const group = isGroup(settings[key]) ? settings[key] : {}
  settings[key] = group
  return group
}

function pathsIn(settings: Settings): Settings[] {
  const list = Array.isArray(settings.paths) ? (settings.paths as Settings[]) : []
  settings.paths = list
  return list
}

function groupOf(settings: unknown): Settings {
  if (!isGroup(settings)) throw new ApiError(400, 'expected an object of settings as JSON')
  return settings
}

const secret = /password|passwd|token|secret|private/i

/** A copy with stars for secrets. */
function redacted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redacted)
  if (!isGroup(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inside]) => [
      key,
      secret.test(key) && typeof inside === 'string' ? '***' : redacted(inside),
    ]),
  )
}
