/** Settings of the node-type kafka. What it does with a broker: test/interop/gateway/kafka.test.ts. */
import { expect, it } from 'vitest'
import { type Settings, SettingsReader } from '../../../src/gateway/index.ts'
import { kafkaSettings } from '../../../src/gateway/nodes/kafka/settings.ts'
import { wrongWith } from './running.ts'

const server = 'localhost:9092'
const out = { produce: 'a' }
const login = { username: 'u', password: 'p' }

it.each([
  [{ out }, 'node: server: is missing'],
  [{ server }, 'in.consume and out.produce are missing'],
  [{ server: 'a:b', out }, 'node: server: "a:b" is not valid. Expected HOST:PORT'],
  [{ server: 'a:1,,b:2', out }, 'is not valid. Expected HOST:PORT'],
  [{ server: 'a:65536', out }, 'is not valid. Expected HOST:PORT'],
  [{ server: '[::1]:9092', out }, 'is not valid. Expected HOST:PORT'],
  [{ server, out: { produce: 'a/b' } }, 'node.out: produce: "a/b" is not valid. Expected a topic'],
  [{ server, out: { produce: '..' } }, 'node.out: produce: ".." is not valid. Expected a topic'],
  [{ server, in: { consume: 'a*', group_id: 'g' } }, 'node.in: consume: "a*" is not valid. Expected a topic'],
  [{ server, in: { consume: 'a' } }, 'node.in: group_id: is missing'],
  [{ server, in: { consume: 'a', group_id: '' } }, 'node.in: group_id: "" is not valid'],
  [{ server, out, protocol: 'TLS' }, 'node: protocol: "TLS" is not valid. Expected one of "PLAINTEXT"'],
  [{ server, out, ssl: {} }, 'ssl has no effect without protocol = "SSL" or "SASL_SSL"'],
  [{ server, out, protocol: 'SSL', ssl: { ca: 'x', calocation: 'y' } }, 'ca and calocation are the same setting'],
  [{ server, out, protocol: 'SSL', ssl: { ca: '/nowhere' } }, 'node.ssl.ca: /nowhere cannot be read: ENOENT'],
  [{ server, out, protocol: 'SSL', ssl: { cert: 'x' } }, "node.ssl has no setting 'cert'"],
  [{ server, out, sasl: login }, 'sasl has no effect without protocol = "SASL_PLAINTEXT" or "SASL_SSL"'],
  [{ server, out, protocol: 'SASL_SSL' }, 'node.sasl: username: is missing'],
  [
    { server, out, protocol: 'SASL_PLAINTEXT', sasl: { ...login, mechanism: 'GSSAPI' } },
    'node.sasl: mechanism: "GSSAPI" is not valid. Expected one of "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"',
  ],
  [{ server, out, timeout: 0 }, 'node: timeout: 0 is not valid'],
  [{ server, out, topic: 'x' }, "node has no setting 'topic'"],
  [{ server, out: { produce: 'a', group_id: 'g' } }, "node.out has no setting 'group_id'"],
] as [Settings, string][])('%j', async (settings, message) => {
  expect(await wrongWith({ type: 'kafka', ...settings })).toContain(message)
})

function read(settings: Settings) {
  return kafkaSettings(new SettingsReader('node', { type: 'kafka', ...settings }))
}

it('has the defaults of VILLASnode: villas.binary, a second, the port of brokers', () => {
  const { format, ...rest } = read({ server: 'a, b:1', out })
  expect(format.name).toBe('villas.binary')
  expect(rest).toEqual({
    servers: ['a:9092', 'b:1'],
    clientId: 'verbena',
    consume: undefined,
    groupId: '',
    produce: 'a',
    timeoutMs: 1000,
    tls: undefined,
    sasl: undefined,
  })
})

it('takes what the protocol needs', () => {
  const input = { consume: 'b.c', group_id: 'g' }
  const sasl = { mechanisms: 'SCRAM-SHA-512', ...login }
  const all = { server, in: input, out, protocol: 'SASL_SSL', client_id: 'c', timeout: 2.5, format: 'json', sasl }
  expect(read(all)).toMatchObject({
    clientId: 'c',
    consume: 'b.c',
    groupId: 'g',
    timeoutMs: 2500,
    tls: {},
    sasl: { mechanism: 'scram-sha-512', ...login },
  })
  const own = read({ server, out, protocol: 'SSL', ssl: { calocation: import.meta.filename } })
  expect(own.tls!.ca!.toString()).toContain('Settings of the node-type kafka')
  expect(own.sasl).toBeUndefined()
})
