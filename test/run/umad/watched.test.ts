/** What is told of a program of libibumad: its agents, the datagrams that it sends and is given, and who did not answer. */
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { Mad, put32, SubnAttribute } from '../../../src/wire/index.ts'
import { mad } from '../../management/node.ts'
import { Recording } from '../watch/recording.ts'
import { newAdapter, Program } from './program.ts'

const adapter = newAdapter()
const port = adapter.port()
afterAll(() => adapter.close())

let recording: Recording
let program: Program
beforeEach(() => {
  recording = new Recording()
  program = new Program(port, recording)
  program.enablePkey()
})
afterEach(() => program.door.close())

const told = (): object[] => recording.all('mad')
const reasons = (): string[] => recording.all('mad').flatMap(({ reason }) => reason ?? [])

/** NodeInfo of the adapter at the end of a directed route. */
function along(...route: number[]): Uint8Array {
  const bytes = mad(0x81, 1, SubnAttribute.nodeInfo)
  bytes.fill(0xff, 32, 36)
  bytes[7] = route.length
  bytes.set(route, 129)
  return bytes
}

/** Waits until there is a message. */
async function received(): Promise<void> {
  await expect.poll(() => program.receive()).not.toBeNull()
}

it('agents are told with what they are registered for', () => {
  program.register(0x32, { oui: 0x1405, methods: [1], rmpp: 1 })
  expect(recording.commands('umad_register')).toEqual([
    expect.objectContaining({
      ...{ device: 'rxe0', program: 'test', result: { agent: 0 } },
      args: { qp: 1, mgmt_class: '0x32', class_version: 1, rmpp: 1, oui: '0x1405' },
    }),
  ])
  program.unregister(3)
  expect(recording.commands('umad_unregister')).toEqual([
    expect.objectContaining({ args: { agent: 3 }, errno: 'EINVAL', reason: 'umad_unregister: there is no agent 3' }),
  ])
  program.register(4, { rmpp: 1 })
  expect(recording.commands('umad_register').at(-1)).toMatchObject({
    errno: 'EINVAL',
    reason: expect.stringMatching(/RMPP/),
  })
})

it('a datagram is told as it is sent, and its response as it is handed out', () => {
  const agent = program.register(1) as number
  const bytes = mad(1, 1, SubnAttribute.nodeInfo)
  put32(bytes, Mad.transactionId + 4, 0x77)
  program.send(agent, bytes, { lid: 2, timeoutMs: 100 })
  expect(told()).toEqual([
    {
      ...{ type: 'mad', device: 'rxe0', program: 'test', pid: process.pid, timeUs: expect.any(Number) },
      ...{ direction: 'sent', name: 'SubnGet(NodeInfo)', mgmtClass: 1, method: 1, attributeId: 0x11 },
      ...{ transactionId: expect.stringMatching(/^0x[0-9a-f]+00000077$/), status: 0, lid: 2, qpNum: 0, length: 256 },
    },
  ])
  program.receive()
  expect(told()[1]).toMatchObject({ direction: 'received', name: 'SubnGetResp(NodeInfo)', lid: 2, qpNum: 0, status: 0 })
  expect(told()).toHaveLength(2)
  expect(recording.commands('umad_send').concat(recording.commands('umad_recv'))).toEqual([])
})

it('a send that fails is told as a command, with its datagram', () => {
  const agent = program.register(0x81) as number
  program.send(agent, along(2), { lid: 0xffff, timeoutMs: 100 })
  expect(recording.commands('umad_send')).toEqual([
    expect.objectContaining({
      args: { agent, mad: 'SubnGet(NodeInfo)', lid: 0xffff, qp: 0, route: '0,2', timeout_ms: 100, retries: 0 },
      ...{ errno: 'EINVAL', reason: 'umad_send: a directed route that does not begin at this port' },
    }),
  ])
  expect(told()).toEqual([])
})

it('a response that says no is told with why', () => {
  const agent = program.register(1) as number
  program.send(agent, mad(1, 1, SubnAttribute.switchInfo), { lid: 1, timeoutMs: 100 })
  program.receive()
  expect(reasons()).toEqual([
    'SubnGetResp(SwitchInfo) of LID 1 says status 0xc: it does not have this attribute, or not with this method',
  ])
})

it('who did not answer is told when the time is over', async () => {
  const [byLid, directed, sa] = [
    program.register(1),
    program.register(0x81),
    program.register(3, { version: 2 }),
  ] as number[]
  program.send(byLid!, mad(1, 1, SubnAttribute.nodeInfo), { lid: 9, timeoutMs: 2, retries: 2 })
  await received()
  program.send(directed!, along(1, 1), { lid: 0xffff, timeoutMs: 2 })
  await received()
  program.send(sa!, mad(3, 0x12, 0x11), { lid: 1, timeoutMs: 2 })
  await received()
  expect(reasons()).toEqual([
    'umad_send: SubnGet(NodeInfo) to LID 9 QP 0 had no response within 2 ms, sent 3 times: no adapter has that LID; there are 1 and 2',
    expect.stringMatching(
      /^umad_send: SubnGet\(NodeInfo\) to route 0,1,1 had no response within 2 ms: nothing is at the end/,
    ),
    expect.stringMatching(
      /SubnAdmGetTable\(NodeRecord\) to LID 1 QP 1 .*no program serves this class there: start opensm/,
    ),
  ])
  // That the datagram comes back is not told as one that was received.
  expect(recording.all('mad').map(({ direction }) => direction)).toEqual(Array(3).fill(['sent', 'unanswered']).flat())
})

it('and where the program itself has waited all but as long', async () => {
  const agent = program.register(1) as number
  program.send(agent, mad(1, 1, SubnAttribute.nodeInfo), { lid: 9, timeoutMs: 1 })
  program.send(agent, mad(1, 1, SubnAttribute.nodeDescription), { lid: 9, timeoutMs: 60_000 })
  const sentAt = performance.now()
  await expect.poll(() => performance.now() - sentAt).toBeGreaterThan(1)
  program.unregister(agent)
  expect(reasons()).toEqual([expect.stringMatching(/SubnGet\(NodeInfo\) to LID 9/)])
})
