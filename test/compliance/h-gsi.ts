/** QP 1: queue pairs of type GSI, and to which of several a message of the communication manager goes. */
import { expect } from 'vitest'
import { Opcode, QpType } from '../../src/index.ts'
import { commIdOf, gsiQkey, gsiQpn } from '../../src/verbs/provider/index.ts'
import { type CmBodies, type CmMessage, type CmType, cmMessage, emitCm } from '../../src/wire/index.ts'
import { type End, expectBytes } from './end.ts'
import { expectThrow, type Group, type Setup } from './rig.ts'

type Gsi = End<typeof QpType.GSI>

const grh = 40
const madBytes = 256
const allBits = 0xffffffffffffffffn

export const groupHManagement: Group = (it) => {
  // IBA A17.5.8
  it('127 a request for a service reaches who registered it, from QP 1', async (t) => {
    const [client, server, other] = [agent(t, 0), agent(t, 1), agent(t, 1)]
    t.register(other.qp, 7n)
    t.register(server.qp, 8n)
    const sent = await send(t, client, server, 'REQ', { localCommId: commIdOf(client.qp, 5), serviceId: 8n })
    const wc = await t.expectCompletion(server.recvCq, { status: 'Success', byteLen: grh + madBytes, srcQp: gsiQpn })
    expect(wc.qpNum).toBe(server.qp.qpNum)
    expectBytes(server.buffer.subarray(grh, grh + madBytes), sent)
    await send(t, client, server, 'SIDR_REQ', { requestId: commIdOf(client.qp, 6), serviceId: 7n })
    await t.expectCompletion(other.recvCq, { status: 'Success', srcQp: gsiQpn })
    await t.expectQuiet(server.recvCq, client.recvCq)
  })

  it('127 an answer reaches who chose its communication ID', async (t) => {
    const [one, two, peer] = [agent(t, 0), agent(t, 0), agent(t, 1)]
    for (const [i, end] of [two, one, two].entries()) {
      await send(t, peer, end, 'REP', { localCommId: commIdOf(peer.qp, 1), remoteCommId: commIdOf(end.qp, 100 + i) })
      await t.expectCompletion(end.recvCq, { status: 'Success', srcQp: gsiQpn })
    }
    await send(t, peer, one, 'SIDR_REP', { requestId: commIdOf(two.qp, 9), serviceId: 0n })
    await t.expectCompletion(two.recvCq, { status: 'Success' })
    await t.expectQuiet(one.recvCq, peer.recvCq)
  })

  it('127 what is nobody’s goes to the first agent; without any it is dropped and counted', async (t) => {
    const client = agent(t, 0)
    const before = t.context(1).counters().gsi_drops_no_agent!
    const nobody = t.end(1, QpType.UD)
    await send(t, client, nobody, 'REQ', { localCommId: 1, serviceId: 99n })
    await t.until('counted drop', () => t.context(1).counters().gsi_drops_no_agent === before + 1)
    const [first, second] = [agent(t, 1), agent(t, 1)]
    t.register(second.qp, 98n)
    await send(t, client, first, 'REQ', { localCommId: 1, serviceId: 99n })
    await t.expectCompletion(first.recvCq, { status: 'Success' })
    await send(t, client, first, 'RTU', { localCommId: 1, remoteCommId: 0xfffffffe })
    await t.expectCompletion(first.recvCq, { status: 'Success' })
    await t.expectQuiet(second.recvCq)
    // While the first does not read what it has got, the next one gets them.
    for (const localCommId of [2, 3]) await send(t, client, first, 'REQ', { localCommId, serviceId: 99n })
    for (const end of [second, first]) await t.expectCompletion(end.recvCq, { status: 'Success' })
    await t.expectQuiet(first.recvCq, second.recvCq)
  })

  it('127 a REJ without a communication ID goes to all', async (t) => {
    const [client, first, second] = [agent(t, 0), agent(t, 1), agent(t, 1)]
    await send(t, client, first, 'REJ', { localCommId: 1, reason: 4 })
    for (const end of [first, second]) await t.expectCompletion(end.recvCq, { status: 'Success' })
  })

  it('127 masks; two that agree are EADDRINUSE; closing gives them free', async (t) => {
    const [client, server, other] = [agent(t, 0), agent(t, 1), agent(t, 1)]
    t.register(server.qp, 0x1060000n, 0xffffffffffff0000n)
    expectThrow('EADDRINUSE', () => t.register(other.qp, 0x1061234n))
    await send(t, client, server, 'REQ', { localCommId: 1, serviceId: 0x1061234n })
    await t.expectCompletion(server.recvCq, { status: 'Success' })
    t.unregister(server.qp, 0x1060000n, 0xffffffffffff0000n)
    expectThrow('EINVAL', () => t.unregister(server.qp, 0x1060000n, 0xffffffffffff0000n))
    t.register(other.qp, 0x1061234n)
    t.close(other.qp)
    t.register(server.qp, 0x1061234n)
    // The same on another adapter is another service.
    if (t.oneAdapter) expectThrow('EADDRINUSE', () => t.register(client.qp, 0x1061234n))
    else t.register(client.qp, 0x1061234n)
  })

  it('127 agents that share a service get its requests in turn, and each again what it has got', async (t) => {
    const [client, one, two, stranger] = [agent(t, 0), agent(t, 1), agent(t, 1), agent(t, 1)]
    const arrives = async (localCommId: number, at: Gsi): Promise<void> => {
      await send(t, client, stranger, 'REQ', { localCommId, serviceId: 8n })
      await t.expectCompletion(at.recvCq, { status: 'Success' })
    }
    t.register(one.qp, 8n, allBits, 5)
    t.register(two.qp, 8n, allBits, 5)
    expectThrow('EADDRINUSE', () => t.register(one.qp, 8n, allBits, 5))
    for (const group of [0, 6]) expectThrow('EADDRINUSE', () => t.register(stranger.qp, 8n, allBits, group))
    expectThrow('EADDRINUSE', () => t.register(stranger.qp, 8n, 0xfn, 5))
    await arrives(1, one)
    await arrives(2, two)
    await arrives(2, two)
    await arrives(3, one)
    await arrives(2, two)
    await arrives(4, two)
    // An agent that does not read what it has gets no more.
    await send(t, client, one, 'REQ', { localCommId: 5, serviceId: 8n })
    for (const id of [6, 7]) await arrives(id, two)
    await t.expectCompletion(one.recvCq, { status: 'Success' })
    // Nor one that has left: the other gets all, repetitions too.
    t.close(one.qp)
    for (const id of [1, 8]) await arrives(id, two)
    t.unregister(two.qp, 8n)
    t.register(stranger.qp, 8n)
    await t.expectQuiet(two.recvCq, stranger.recvCq)
  })

  it('127 what is no message of the communication manager is dropped and counted', async (t) => {
    const [client, server] = [agent(t, 0), agent(t, 1)]
    t.register(server.qp, 8n)
    const drops = (): readonly [malformed: number, noAgent: number] => {
      const { gsi_drops_malformed: malformed, gsi_drops_no_agent: noAgent } = t.context(1).counters()
      return [malformed!, noAgent!]
    }
    const [malformed, noAgent] = drops()
    const mad = new Uint8Array(madBytes)
    emitCm(cmMessage('REQ', 1n, { serviceId: 8n }), mad, 0)
    const damaged = [mad.subarray(0, 255), mad.subarray(0, 0), ...[0, 3].map((at) => mad.with(at, 0x55))]
    const ofAnotherClass = mad.with(1, 0x55)
    for (const bytes of [...damaged, ofAnotherClass]) await post(t, client, server, bytes)
    await t.until('counted drops', () => drops().join() === [malformed + damaged.length, noAgent + 1].join())
    await t.expectQuiet(server.recvCq)
  })

  it('127 only QP 1 speaks to QP 1, and nobody to the number of a GSI queue pair', async (t) => {
    const [client, server] = [agent(t, 0), agent(t, 1)]
    const [plain] = t.pair(QpType.UD)
    t.register(server.qp, 8n)
    emitCm(cmMessage('REQ', 1n, { serviceId: 8n }), plain.buffer, 0)
    const to = { ah: t.ah(plain, server), remoteQpn: gsiQpn, length: madBytes }
    for (const remoteQkey of [gsiQkey, 0x10000])
      expect(await t.run(plain, Opcode.Send, null, { ...to, remoteQkey })).toMatchObject({ status: 'Success' })
    emitCm(cmMessage('REQ', 1n, { serviceId: 8n }), client.buffer, 0)
    const ah = t.ah(client, server)
    const direct = { ah, remoteQpn: server.qp.qpNum, remoteQkey: gsiQkey, length: madBytes }
    expect(await t.run(client, Opcode.Send, null, direct)).toMatchObject({ status: 'Success' })
    await t.expectQuiet(server.recvCq)
  })

  it('127 a MAD in several pieces', async (t) => {
    const [client, server, other] = [agent(t, 0), agent(t, 1), agent(t, 1)]
    t.register(other.qp, 7n)
    t.register(server.qp, 8n)
    emitCm(cmMessage('REQ', 1n, { serviceId: 8n }), client.buffer, 0)
    const to = { ah: t.ah(client, server), remoteQpn: gsiQpn, remoteQkey: gsiQkey }
    const sgList = [client.sge(0, 10), client.sge(10, 23), client.sge(33, madBytes - 33)]
    expect(await t.run(client, Opcode.Send, null, { ...to, sgList })).toMatchObject({ status: 'Success' })
    await t.expectCompletion(server.recvCq, { status: 'Success', byteLen: grh + madBytes })
  })
}

/** A GSI queue pair that is ready, with receives. */
function agent(t: Setup, side: 0 | 1): Gsi {
  const end = t.end(side, QpType.GSI)
  t.connectTo(end as unknown as End, end.endpoint)
  for (let i = 0; i < 8; i++) end.recv(i, 0, grh + madBytes)
  return end
}

async function send<T extends CmType>(
  t: Setup,
  from: Gsi,
  to: { endpoint: End['endpoint'] },
  type: T,
  fields: Partial<CmBodies[T]>,
): Promise<Uint8Array> {
  const mad = new Uint8Array(madBytes)
  emitCm(cmMessage(type, 1n, fields) as unknown as CmMessage, mad, 0)
  await post(t, from, to, mad)
  return mad
}

async function post(t: Setup, from: Gsi, to: { endpoint: End['endpoint'] }, mad: Uint8Array): Promise<void> {
  // Behind where receives are.
  const offset = 1024
  from.buffer.set(mad, offset)
  const fields = { ah: t.ah(from, to as End), remoteQpn: gsiQpn, remoteQkey: gsiQkey, offset, length: mad.length }
  expect(await t.run(from as unknown as End, Opcode.Send, null, fields)).toMatchObject({ status: 'Success' })
}
