/** Settings of the node-type mqtt. What it does with a broker: test/interop/gateway/mqtt.test.ts. */
import { expect, it } from 'vitest'
import type { Settings } from '../../../src/gateway/index.ts'
import { wrongWith } from './running.ts'

const host = 'localhost'
const input = { subscribe: 'a/#' }

it.each([
  [{ in: input }, 'node: host: is missing'],
  [{ host }, 'in.subscribe and out.publish are missing'],
  [{ host, in: { subscribe: 'a/#/b' } }, 'node.in: subscribe: "a/#/b" is not valid'],
  [{ host, out: { publish: 'a/+' } }, 'node.out: publish: "a/+" is not valid. Expected a topic without the wildcards'],
  [{ host, in: input, qos: 3 }, 'node: qos: 3 is not valid. Expected one of 0, 1, 2'],
  [{ host, in: input, password: 'x' }, 'a password needs a username'],
  [{ host, in: input, ssl: { ca: 'x' } }, "node.ssl has no setting 'ca'"],
  [{ host, in: input, topic: 'x' }, "node has no setting 'topic'"],
  [
    {
      ...{
        host,
        port: 1,
        in: { subscribe: '+/a/#' },
        out: { publish: 'a/b' },
        username: 'u',
        password: 'p',
        qos: 2,
        retain: true,
      },
      ...{
        keepalive: 5,
        ssl: { enabled: false, insecure: true, cafile: 'a', certfile: 'b', keyfile: 'c', tls_version: 'tlsv1.2' },
      },
    },
    '',
  ],
] as [Settings, string][])('%j', async (settings, message) => {
  const wrong = await wrongWith({ type: 'mqtt', ...settings })
  if (message === '') expect(wrong).toBe('')
  else expect(wrong).toContain(message)
})
