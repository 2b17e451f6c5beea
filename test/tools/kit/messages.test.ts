/** What a peer says is shown to an operator, and goes into journals: it cannot control a terminal or make lines of its own. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { receiveMessage, type Wire } from '../../../src/tools/kit/index.ts'

const schema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('hello'), name: z.string() }),
  z.object({ type: z.literal('error'), message: z.string() }),
])

const heard = (said: object): Promise<{ type: 'hello'; name: string }> => {
  const wire = { readLine: async () => JSON.stringify(said) } as unknown as Wire
  return receiveMessage<z.infer<typeof schema>>(wire, schema, 1000, "'hello'", '`verbena test`')
}
/** Title of the window, a forged line, C1's CSI, DEL, a line of Unicode, right-to-left override. */
const hostile = '\u001b]0;owned\u0007\nverbena: all is well\r\u009b2J\u007f\u2028\u202e.'
const plain = '\\x1b]0;owned\\x07\\x0averbena: all is well\\x0d\\x9b2J\\x7f\\u2028\\u202e.'

it('an error of the peer has no control characters', async () => {
  await expect(heard({ type: 'error', message: hostile })).rejects.toThrow(`the peer says: ${plain}`)
})

it('nor have other texts; those in any language stay', async () => {
  expect(await heard({ type: 'hello', name: `${hostile} Grüße 漢字` })).toEqual({
    type: 'hello',
    name: `${plain} Grüße 漢字`,
  })
})
