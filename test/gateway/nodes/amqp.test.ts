/** Settings of the node-type amqp. What it does with a broker: test/interop/gateway/amqp.test.ts. */
import { expect, it } from 'vitest'
import type { Settings } from '../../../src/gateway/index.ts'
import { wrongWith } from './running.ts'

const rest = { exchange: 'e', routing_key: 'k' }

it.each([
  [{ routing_key: 'k' }, 'node: exchange: is missing'],
  [{ exchange: 'e' }, 'node: routing_key: is missing'],
  [{ ...rest, uri: 'http://x' }, 'node: uri: "http://x" is not valid. Expected a URI of AMQP'],
  [{ ...rest, ssl: { ca: 'x' } }, "node.ssl has no setting 'ca'"],
  [{ ...rest, ssl: { ca_cert: '/nowhere' } }, 'ENOENT'],
  [{ ...rest, queue: 'x' }, "node has no setting 'queue'"],
  [
    {
      ...rest,
      host: 'h',
      port: 1,
      vhost: 'a/b',
      username: 'u@x',
      password: 'p:',
      ssl: { verify_peer: false, verify_hostname: false },
    },
    '',
  ],
] as [Settings, string][])('%j', async (settings, message) => {
  const wrong = await wrongWith({ type: 'amqp', ...settings })
  if (message === '') expect(wrong).toBe('')
  else expect(wrong).toContain(message)
})
