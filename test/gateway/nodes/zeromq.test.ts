/** Settings of the node-type zeromq. What it does with a peer: test/interop/gateway/zeromq.test.ts. */
import { expect, it } from 'vitest'
import type { Settings } from '../../../src/gateway/index.ts'
import { wrongWith } from './running.ts'

const input = { subscribe: 'tcp://localhost:1' }
const key = 'Veg+Q.V-c&1k>yVh663gQ^7fL($y47gybE-nZP1L'

it.each([
  [{}, 'in.subscribe and out.publish are missing'],
  [
    { in: { subscribe: 'localhost:1' } },
    'node.in: subscribe: "localhost:1" is not valid. Expected endpoints of ZeroMQ',
  ],
  [{ in: input, pattern: 'pair' }, 'node: pattern: "pair" is not valid. Expected one of "pubsub", "radiodish"'],
  [{ in: input, curve: { public_key: key } }, 'node.curve: secret_key: is missing'],
  [{ in: input, curve: { public_key: 'x', secret_key: key } }, 'node.curve: public_key: "x" is not valid'],
  [{ in: input, pattern: 'radiodish', curve: { public_key: key, secret_key: key } }, 'RADIO and DISH do not encrypt'],
  [{ in: input, out: { endpoints: 'x' } }, "node.out has no setting 'endpoints'"],
  [
    {
      ipv6: true,
      in: { ...input, bind: true },
      out: { publish: ['ipc:///tmp/a', 'inproc://b'], filter: 'x', bind: false },
      curve: { enabled: false, public_key: key, private_key: key },
    },
    '',
  ],
] as [Settings, string][])('%j', async (settings, message) => {
  const wrong = await wrongWith({ type: 'zeromq', ...settings })
  if (message === '') expect(wrong).toBe('')
  else expect(wrong).toContain(message)
})
