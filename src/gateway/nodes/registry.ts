/** The types of nodes by name, as VILLASnode calls them. Each is loaded when a configuration names it, with the client that it needs. */
import type { NodeType, SecretSettings } from '../index.ts'

interface Row {
  load(): Promise<NodeType>
  /** Secret settings, which no user may see, not even through the API. Addresses are examined in any case. */
  readonly secret: readonly string[]
}

const rows: Readonly<Record<string, Row>> = {
  amqp: { load: async () => (await import('./amqp.ts')).amqp, secret: ['password'] },
  exec: { load: async () => (await import('./exec.ts')).exec, secret: ['environment'] },
  file: { load: async () => (await import('./file/index.ts')).file, secret: [] },
  infiniband: { load: async () => (await import('./infiniband/index.ts')).infiniband, secret: [] },
  influxdb: { load: async () => (await import('./influxdb.ts')).influxdb, secret: [] },
  kafka: { load: async () => (await import('./kafka/index.ts')).kafka, secret: ['sasl.password'] },
  loopback: { load: async () => (await import('./loopback.ts')).loopback, secret: [] },
  mqtt: { load: async () => (await import('./mqtt.ts')).mqtt, secret: ['password'] },
  redis: { load: async () => (await import('./redis/index.ts')).redis, secret: ['password'] },
  shmem: { load: async () => (await import('./shmem/index.ts')).shmem, secret: [] },
  'signal.v2': { load: async () => (await import('./signal/index.ts')).signalV2, secret: [] },
  signal: { load: async () => (await import('./signal/index.ts')).signal, secret: [] },
  socket: { load: async () => (await import('./socket/index.ts')).socket, secret: [] },
  stats: { load: async () => (await import('./stats.ts')).stats, secret: [] },
  test_rtt: { load: async () => (await import('./test-rtt/index.ts')).testRtt, secret: [] },
  websocket: { load: async () => (await import('./websocket.ts')).websocket, secret: ['token'] },
  zeromq: { load: async () => (await import('./zeromq.ts')).zeromq, secret: ['curve.private_key', 'curve.secret_key'] },
}

export const nodeTypes: Readonly<Record<string, () => Promise<NodeType>>> = Object.fromEntries(
  Object.entries(rows).map(([name, { load }]) => [name, load]),
)

/** Secret settings of each type. */
export const secretSettings: SecretSettings = Object.fromEntries(
  Object.entries(rows).map(([name, { secret }]) => [name, secret]),
)
