/**
 * A running gateway as the API sees it: its configuration, the parts that are stopped for now, and changes of both. A change is checked as
 * a whole before anything happens; threads in which nothing changes go on. Changes happen one after the other, each as a whole: no change
 * touches what another one reads, edits, checks and applies.
 */
import {
  type GatewayConfig,
  GatewayError,
  isGroup,
  mappingText,
  type NodeConfig,
  nodeName,
  type PathConfig,
  Secrets,
  type Settings,
} from '../index.ts'
import { checkSettings, loadConfig } from '../load/index.ts'
import { secretSettings } from '../nodes/index.ts'
import type { NodeStatus, PathStatus, SuperNode } from '../runtime/index.ts'

/** Error of a request that cannot be fulfilled: an HTTP status, and the reason. */
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

/** State that each change replaces as a whole. */
interface Wanted {
  settings: Settings
  /** UUIDs of the gateway and its paths, which stay the same when settings change; paths in the order of the list. */
  uuids: { gateway: string; paths: (string | undefined)[] }
  /** Names of nodes that are stopped or paused, and UUIDs of paths that are stopped, for now. */
  stopped: Set<string>
  paused: Set<string>
  stoppedPaths: Set<string>
}

export type NodeAction = 'start' | 'stop' | 'pause' | 'resume' | 'restart'

const secrets = new Secrets(secretSettings)

export class GatewayControl {
  readonly gateway: SuperNode
  #wanted: Wanted
  #config: GatewayConfig
  /** Promise that is fulfilled when the last requested change is done. */
  #last: Promise<unknown> = Promise.resolve()

  /** Makes the control of a gateway that has started, with `watched`. */
  constructor(gateway: SuperNode) {
    this.gateway = gateway
    const { settings, uuid, paths } = gateway.config
    this.#wanted = {
      settings: structuredClone(settings),
      uuids: { gateway: uuid, paths: uuidsOf(paths) },
      stopped: new Set(),
      paused: new Set(),
      stoppedPaths: new Set(),
    }
    this.#config = checkSettings(this.#wanted.settings, undefined, this.#wanted.uuids).config
  }

  get config(): GatewayConfig {
    return this.#config
  }

  /** Settings without secrets. */
  get settings(): unknown {
    return secrets.shown(this.#wanted.settings)
  }

  nodes(): unknown[] {
    const running = new Map(this.gateway.nodes().map((status) => [status.name, status]))
    return this.#config.nodes.map((node) => this.#nodeDocument(node, running.get(node.name)))
  }

  node(nameOrUuid: string): unknown {
    const node = this.findNode(nameOrUuid)
    const status = this.gateway.nodes().find(({ name }) => name === node.name)
    return { ...this.#nodeDocument(node, status), config: secrets.shownNode(node.settings) }
  }

  paths(): unknown[] {
    const running = new Map(this.gateway.paths().map((status) => [status.uuid, status]))
    return this.#config.paths.map((path) => pathDocument(path, running.get(path.uuid)))
  }

  path(uuid: string): unknown {
    const path = this.#findPath(uuid)
    const status = this.gateway.paths().find((each) => each.uuid === path.uuid)
    return { ...pathDocument(path, status), config: secrets.shownPath(path.settings) }
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

  /** Applies `action` to a node, whose paths run only while all of their nodes do. Returns the node as it is afterwards. */
  actOnNode(nameOrUuid: string, action: NodeAction): Promise<unknown> {
    return this.#inTurn(async () => {
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
      return this.node(name)
    })
  }

  rewind(nameOrUuid: string): Promise<unknown> {
    return this.#inTurn(async () => {
      const { name, type } = this.findNode(nameOrUuid)
      if (type !== 'file') throw new ApiError(409, `node '${name}' is of type ${type}; only a file can be rewound`)
      await this.#change(() => {}, [name])
      return this.node(name)
    })
  }

  actOnPath(uuid: string, action: 'start' | 'stop'): Promise<unknown> {
    return this.#inTurn(async () => {
      const path = this.#findPath(uuid)
      await this.#change(({ stoppedPaths }) => {
        if (action === 'stop') stoppedPaths.add(path.uuid)
        else stoppedPaths.delete(path.uuid)
      })
      return this.path(path.uuid)
    })
  }

  /** Adds a node, or replaces the one of that name. Returns the node, and whether it is new. */
  putNode(name: string, settings: unknown): Promise<{ isNew: boolean; node: unknown }> {
    return this.#inTurn(async () => {
      if (!nodeName.test(name) || name === '__proto__')
        throw new ApiError(400, `'${name}' is no name of a node: 2 to 32 of a-z, 0-9, _ and -`)
      const isNew = !this.#config.nodes.some((node) => node.name === name)
      await this.#change((wanted) => {
        const nodes = groupIn(wanted.settings, 'nodes')
        nodes[name] = secrets.restoredNode(groupOf(settings), Object.hasOwn(nodes, name) ? nodes[name] : undefined)
      })
      return { isNew, node: this.node(name) }
    })
  }

  /** Deletes a node; rejects the deletion of one that a path uses. */
  deleteNode(nameOrUuid: string): Promise<void> {
    return this.#inTurn(async () => {
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
    })
  }

  /** Adds a path; returns it. */
  postPath(settings: unknown): Promise<unknown> {
    return this.#inTurn(async () => {
      const path = groupOf(settings)
      const taken = this.#config.paths.find(({ uuid }) => uuid === String(path.uuid).toLowerCase())
      if (taken !== undefined) throw new ApiError(409, `there is a path ${taken.uuid} already; PUT takes its place`)
      await this.#change((wanted) => {
        pathsIn(wanted.settings).push(secrets.restoredPath(path))
        wanted.uuids.paths.push(undefined)
      })
      return this.path(this.#wanted.uuids.paths.at(-1)!)
    })
  }

  /** Replaces a path, which keeps its UUID, and returns it. */
  putPath(uuid: string, settings: unknown): Promise<unknown> {
    return this.#inTurn(async () => {
      const index = this.#indexOf(uuid)
      await this.#change((wanted) => {
        const paths = pathsIn(wanted.settings)
        const before = paths[index]!
        const { uuid: _, ...path } = secrets.restoredPath(groupOf(settings), before)
        paths[index] = Object.hasOwn(before, 'uuid') ? { ...path, uuid: before.uuid } : path
      })
      return this.path(this.#wanted.uuids.paths[index]!)
    })
  }

  /** Deletes a path, and its reverse path if it has one. */
  deletePath(uuid: string): Promise<void> {
    return this.#inTurn(async () => {
      const index = this.#indexOf(uuid)
      await this.#change((wanted) => {
        pathsIn(wanted.settings).splice(index, 1)
        wanted.uuids.paths.splice(index, 1)
      })
    })
  }

  /** Restarts everything, with other settings if there are any: the settings themselves, or the name of a file of this host. */
  restart(settings?: unknown): Promise<void> {
    return this.#inTurn(async () => {
      const given = typeof settings === 'string' ? settingsOfFile(settings) : settings
      await this.#change(
        (wanted) => {
          if (given !== undefined) {
            wanted.settings = secrets.restored(groupOf(given), wanted.settings)
            wanted.uuids.paths = []
          }
          for (const set of [wanted.stopped, wanted.paused, wanted.stoppedPaths]) set.clear()
        },
        this.#config.nodes.map(({ name }) => name),
      )
    })
  }

  /** Runs a change when all that were requested before are done. */
  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const done = this.#last.then(change)
    this.#last = done.catch(() => {})
    return done
  }

  /** Applies a change; called only from within `#inTurn`. */
  async #change(edit: (wanted: Wanted) => void, again: readonly string[] = []): Promise<void> {
    const wanted = structuredClone(this.#wanted)
    refusals(() => edit(wanted))
    const { config, errors } = checkSettings(wanted.settings, undefined, wanted.uuids)
    const scrub = secrets.scrubber(wanted.settings)
    const messages = errors.map(({ message }) => scrub(message))
    if (messages.length > 0) throw new ApiError(400, messages[0]!, messages)
    const paths = uuidsOf(config.paths)
    const all = new Set(config.paths.map(({ uuid }) => uuid))
    for (const uuid of wanted.stoppedPaths) if (!all.has(uuid)) wanted.stoppedPaths.delete(uuid)
    try {
      await this.gateway.change(effective(config, wanted), { again })
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      const message = scrub(error.message)
      throw new ApiError(error.code === 'ERR_GATEWAY_NODE' ? 409 : 400, message, [message])
    }
    this.#wanted = { ...wanted, uuids: { gateway: config.uuid, paths } }
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
      // Signals of what passes the node now; a browser plots them.
      signals: (seen?.signals ?? input.signals ?? []).map((signal) => ({ name: signal.name, unit: signal.unit })),
      counts: status?.counts ?? {},
    }
  }

  #findPath(uuid: string): PathConfig {
    const found = this.#config.paths.find((path) => path.uuid === uuid.toLowerCase())
    if (found === undefined) throw new ApiError(404, `there is no path '${uuid}'`)
    return found
  }

  /** Returns the index of a path in the list of the settings, where a path and its reverse path are one entry. */
  #indexOf(uuid: string): number {
    return pathsIn(this.#config.settings).indexOf(this.#findPath(uuid).settings)
  }
}

/** Returns the configuration that is to run now. */
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

/** Returns the UUIDs of the paths of the list, without those that are the reverse of one. */
function uuidsOf(paths: readonly PathConfig[]): string[] {
  return paths.filter(({ reversed }) => !reversed).map(({ uuid }) => uuid)
}

function groupOf(settings: unknown): Settings {
  if (!isGroup(settings)) throw new ApiError(400, 'expected an object of settings as JSON')
  return settings
}

/** Returns the settings of a file, with its includes and variables replaced. */
function settingsOfFile(path: string): Settings {
  return refusals(() => {
    const { config, errors } = loadConfig(path, process.env)
    const messages = errors.map(({ message }) => message)
    if (messages.length > 0) throw new ApiError(400, messages[0]!, messages)
    return config.settings
  })
}

/** Runs a part of a request; an error in settings becomes an error of the request. */
function refusals<T>(part: () => T): T {
  try {
    return part()
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    throw new ApiError(400, error.message, [error.message])
  }
}
