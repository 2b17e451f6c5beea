/** The types of nodes by name, as VILLASnode calls them. Each is loaded when a configuration names it, with the client that it needs. */
import type { NodeType, SecretSettings } from '../index.ts'

export const nodeTypes: Readonly<Record<string, () => Promise<NodeType>>> = {
  amqp: async () => (await import('./amqp.ts')).amqp,
  exec: async () => (await import('./exec.ts')).exec,
  file: async () => (await import('./file/index.ts')).file,
  infiniband: async () => (await import('./infiniband/index.ts')).infiniband,
  influxdb: async () => (await import('./influxdb.ts')).influxdb,
  kafka: async () => (await import('./kafka/index.ts')).kafka,
  loopback: async () => (await import('./loopback.ts')).loopback,
  mqtt: async () => (await import('./mqtt.ts')).mqtt,
  redis: async () => (await import('./redis/index.ts')).redis,
  shmem: async () => (await import('./shmem/index.ts')).shmem,
  'signal.v2': async () => (await import('./signal/index.ts')).signalV2,
  signal: async () => (await import('./signal/index.ts')).signal,
  socket: async () => (await import('./socket/index.ts')).socket,
  stats: async () => (await import('./stats.ts')).stats,
  test_rtt: async () => (await import('./test-rtt/index.ts')).testRtt,
  websocket: async () => (await import('./websocket.ts')).websocket,
  zeromq: async () => (await import('./zeromq.ts')).zeromq,
}

/** Secret settings of each type, which no user may see, not even through the API. Addresses are examined in any case. */
export const secretSettings: SecretSettings = {
  amqp: ['password'],
  exec: ['environment'],
  file: [],
  infiniband: [],
  influxdb: [],
  kafka: ['sasl.password'],
  loopback: [],
  mqtt: ['password'],
  redis: ['password'],
  shmem: [],
  'signal.v2': [],
  signal: [],
  socket: [],
  stats: [],
  test_rtt: [],
  websocket: ['token'],
  zeromq: ['curve.private_key', 'curve.secret_key'],
}
