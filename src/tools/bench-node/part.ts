/** A gateway that has a part in a run: in this process, or in one of its own (remote-part.ts). */
import { GatewayError, type Settings } from '../../gateway/index.ts'
import { checkSettings, type NodeStatus, type PathStatus, SuperNode } from '../../gateway/runtime/index.ts'
import { VerbsError } from '../../index.ts'

export interface PartStatus {
  nodes: NodeStatus[]
  paths: PathStatus[]
  /** Messages of the errors that made a node fail. */
  failures: string[]
  /** Processor time that a separate process has used, microseconds; 0 for a part in this one. */
  cpuUs: number
}

export interface PartOptions {
  config: Settings
  /** Names of nodes that are read only after `release`. */
  held: readonly string[]
}

export interface Part {
  /** Status of the part; for a part in another process, the last one that it reported. */
  readonly status: PartStatus
  /** Requests that nodes report their states. */
  ask(): void
  release(): void
  /** Stops the part; fulfilled when everything is written. */
  stop(): Promise<void>
}

/** Receives lines that are meant for the user. */
export type Log = (line: string) => void

export class LocalPart implements Part {
  readonly #gateway: SuperNode

  private constructor(gateway: SuperNode) {
    this.#gateway = gateway
  }

  /** Starts the gateway. Throws a `GatewayError` if a node cannot start. */
  static async start({ config, held }: PartOptions, log: Log): Promise<LocalPart> {
    const { config: checked, errors } = checkSettings(config)
    const [mistake] = errors
    if (mistake !== undefined) throw new GatewayError('ERR_GATEWAY_CONFIGURATION', mistake.message)
    const gateway = await SuperNode.parse(checked, {
      held,
      log: (level, owner, line) => {
        if (level === 'warn' || level === 'error') log(`${owner}: ${line}`)
      },
    })
    try {
      await gateway.start()
    } catch (error) {
      // The device of a node is missing: other runs may continue.
      throw error instanceof VerbsError ? new GatewayError('ERR_GATEWAY_NODE', error.message) : error
    }
    return new LocalPart(gateway)
  }

  get status(): PartStatus {
    const failures = this.#gateway.failures.map(({ node, message }) => `${node}: ${message}`)
    return { nodes: this.#gateway.nodes(), paths: this.#gateway.paths(), failures, cpuUs: 0 }
  }

  ask(): void {
    this.#gateway.ask()
  }

  release(): void {
    this.#gateway.release()
  }

  async stop(): Promise<void> {
    await this.#gateway.stop()
  }
}
