/** A running node: the source and destination of paths, on any connection that there is. */
import { nowNs } from '../../../memory/index.ts'
import type { Destination, NodeContext, RunningNode, Source } from '../../index.ts'
import { ConnectionManager } from './connection-manager.ts'
import { CopyingDestination, CopyingSource, Stamps } from './copying.ts'
import { Registered } from './registered.ts'
import type { InfinibandSettings } from './settings.ts'

/** Turns of `wait` between two looks at the clock. */
const spins = 512

export function startNode(
  settings: InfinibandSettings,
  context: NodeContext,
  directions: { in: boolean; out: boolean },
): RunningNode {
  const manager = new ConnectionManager(settings, context)
  let memory: Registered
  try {
    const keeps = settings.in.maxWrs + settings.out.maxWrs + settings.in.vectorize + settings.out.vectorize
    memory = new Registered(manager.device, context.pool, settings.qpType, keeps)
  } catch (error) {
    manager.close()
    throw error
  }
  for (const warning of settings.warnings) context.log('warn', warning)
  if (!memory.direct)
    context.log('info', `the pool of samples is not in memory of ${settings.device}: each sample is copied`)
  const stamps = memory.direct ? null : new Stamps(context, memory.pool)
  const source = new InfinibandSource(manager, memory)
  const destination = new InfinibandDestination(manager)
  const { in: reads, out: writes } = directions
  const { vectorize } = settings.in
  try {
    manager.start(memory, stamps ?? context.clock)
  } catch (error) {
    stamps?.close()
    memory.close()
    manager.close()
    throw error
  }
  return {
    source: reads ? (stamps === null ? source : new CopyingSource(source, context.pool, memory.pool, vectorize)) : null,
    destination: writes
      ? stamps === null
        ? destination
        : new CopyingDestination(destination, context.pool, memory.pool, settings.out.vectorize)
      : null,
    synchronous: true,
    get state() {
      return manager.state
    },
    counters: () => ({ ...manager.counts }),
    async stop() {
      await manager.stop()
      for (const sample of manager.arrived.splice(0)) memory.pool.drop(sample)
      stamps?.close()
      memory.close()
      manager.close()
    },
  }
}

class InfinibandSource implements Source {
  released = 0
  readonly #manager: ConnectionManager
  readonly #memory: Registered

  constructor(manager: ConnectionManager, memory: Registered) {
    this.#manager = manager
    this.#memory = memory
  }

  read(samples: Int32Array, count: number): number {
    const manager = this.#manager
    const { connection, state } = manager
    if (manager.arrived.length > 0) return this.#readArrived(samples, count)
    if (connection === null || (state !== 'connected' && state !== 'pending connect')) {
      manager.tickByClock()
      this.released = count
      return 0
    }
    const { receive } = connection
    const read = receive.read(samples, count, state === 'connected')
    this.released = receive.released
    if (receive.failure !== undefined) manager.broken(connection)
    else manager.tick()
    return read
  }

  /** Reads samples that a connection has left at its end. */
  #readArrived(samples: Int32Array, count: number): number {
    const arrived = this.#manager.arrived.splice(0, count)
    for (const [i, sample] of arrived.entries()) {
      this.#memory.pool.drop(samples[i]!)
      samples[i] = sample
    }
    this.released = count
    return arrived.length
  }

  /** Waits, busy while it is connected, as in VILLASnode: a thread that sleeps is woken tens of microseconds late. */
  wait(ms: number): void {
    const manager = this.#manager
    if (this.#isReady()) return
    if (manager.state !== 'connected') {
      manager.serve(ms)
      return
    }
    const end = nowNs() + ms * 1e6
    for (;;) {
      manager.tickByClock()
      for (let i = 0; i < spins; i++) if (this.#isReady()) return
      if (nowNs() >= end) return
    }
  }

  #isReady(): boolean {
    const { connection, state, arrived } = this.#manager
    if (arrived.length > 0) return true
    if (connection === null) return false
    // Below the threshold it wants samples.
    if (!connection.receive.isFull) return state === 'connected' || state === 'pending connect'
    return state === 'connected' && connection.receive.filled
  }
}

class InfinibandDestination implements Destination {
  released = 0
  readonly #manager: ConnectionManager

  constructor(manager: ConnectionManager) {
    this.#manager = manager
  }

  write(samples: Int32Array, count: number): number {
    const manager = this.#manager
    const { connection } = manager
    if (connection === null || manager.state !== 'connected' || !connection.send.hasPath) {
      manager.counts.not_connected += count
      manager.tickByClock()
      this.released = count
      return 0
    }
    const { send } = connection
    const written = send.write(samples, count)
    this.released = send.released
    if (send.failure !== undefined) manager.broken(connection)
    else manager.tick()
    return written
  }

  /** Gives back samples that have been sent meanwhile. */
  flush(): void {
    const manager = this.#manager
    const { connection } = manager
    if (connection !== null && connection.send.holds > 0) {
      connection.send.reap()
      if (connection.send.failure !== undefined) manager.broken(connection)
    }
    manager.tickByClock()
  }
}
