/**
 * `ibv_req_notify_cq`, the one call that a program which sleeps makes for each message, in the form in which libibverbs writes it: the
 * ioctl INVOKE_WRITE with two attributes, the number of the command and its request. Calls in any other form are left to the table
 * (`callMethod`), which takes ten times as long.
 */
import { notifyBytes } from '../door.ts'
import type { ProgramContext } from './program-context.ts'
import { rxeDriver, writeCommands } from './schema.ts'

/** Words that are the same in each such call, 0 where handle and flag are. */
const expected = new Uint32Array(notifyBytes / 4)
const handleWord = 12
const flagWord = 13

/** Length and object; method and count; reserved; driver; reserved. */
expected.set([notifyBytes, 2 << 16, 0, 0, rxeDriver, 0])
/** Attribute 2, 8 bytes, mandatory: the command. Attribute 0: its request. */
expected.set([2 | (8 << 16), 1, writeCommands.REQ_NOTIFY_CQ.number, 0], 6)
expected.set([writeCommands.REQ_NOTIFY_CQ.requestBytes << 16, 1], 10)

/** Executes the call; false, without any effect, if it is another call, or one that fails. */
export function notifyCall(context: ProgramContext, argument: Uint32Array): boolean {
  for (let i = 0; i < handleWord; i++) if (argument[i] !== expected[i]) return false
  const cq = context.opened ? context.at('cq', argument[handleWord]!) : undefined
  if (cq === undefined) return false
  cq.arm(argument[flagWord] !== 0)
  return true
}
