/** States and events of the RDMA CM: fallback, peers that come again, peers that are one too many, the end. */
import { afterEach, expect, it, vi } from 'vitest'
import { type CmId, createId, faults, Opcode, openDevice, PortSpace } from '../../../../src/index.ts'
import { loopbackAddress, loopbackDevice } from '../../../loopback.ts'
import { Bed, type BedOptions, type TestNode, until } from './bed.ts'

let bed: Bed | undefined
function bedOn(options: BedOptions = { device: 'shm0' }): Bed {
  bed = new Bed(options)
  return bed
}
afterEach(async () => {
  await bed?.stop()
  bed = undefined
})

const at = (port: number, to?: number, out: object = {}) => ({
  device: 'shm0',
  in: { address: `127.0.0.1:${port}` },
  out: { ...(to === undefined ? {} : { address: `127.0.0.1:${to}` }), ...out },
})

const connected = (...nodes: TestNode[]) =>
  until(
    () => nodes.every(({ state }) => state === 'connected'),
    () => nodes.map((node) => node.read()),
  )

/** Sends until something has arrived: the connection works. */
async function works(from: TestNode, to: TestNode): Promise<void> {
  while (to.read().length > 0); //                                what an earlier connection has left
  for (let i = 0; i < 128; i++) to.read()
  expect(from.write([7])).toBe(1)
  const got: number[] = []
  await until(
    () => got.length > 0,
    () => void got.push(...to.read()),
  )
  expect(got).toEqual([7])
}

it('a passive node is started until somebody connects', async () => {
  const node = await bedOn().start('b', at(1500))
  expect(node.state).toBe('started')
  expect(node.read()).toEqual([])
  expect(node.write([1])).toBe(0)
  expect(node.counters).toMatchObject({ not_connected: 1, sent: 0 })
})

it('an active node that nobody accepts listens, and accepts', async () => {
  const bed = bedOn()
  const a = await bed.start('a', at(1510, 1511))
  await until(() => a.lines.some((line) => line.includes('RDMA_CM_EVENT_REJECTED')))
  expect(a.state).toBe('started')
  // The other one is active, too, as in VILLASnode's examples.
  const b = await bed.start('b', at(1511, 1510))
  await connected(a, b)
  await works(a, b)
  await works(b, a)
})

it('an active node tries again, so that it does not matter which node starts first', async () => {
  const bed = bedOn()
  const a = await bed.start('a', at(1520, 1521))
  await until(() => a.counters.connect_failed! > 1)
  const ofAttempts = a.lines.filter((line) => line.includes('tries to connect')).map((line) => line.split(':')[0])
  expect(ofAttempts).toEqual(['warn', ...ofAttempts.slice(1).fill('debug')])
  const b = await bed.start('b', at(1521))
  await connected(a, b)
  await works(a, b)
})

it('tries again also where its timer is early', async () => {
  const original = globalThis.setTimeout
  // They may be so by a millisecond.
  const early = (run: () => void, ms: number) => original(run, ms > 500 ? ms - 20 : ms)
  const spy = vi.spyOn(globalThis, 'setTimeout').mockImplementation(early as typeof setTimeout)
  const a = await bedOn().start('a', at(1525, 1526))
  await until(() => a.counters.connect_failed! > 2).finally(() => spy.mockRestore())
})

it('without fallback it fails', async () => {
  const a = await bedOn().start('a', at(1530, 1531, { use_fallback: false }))
  await until(() => a.failures.length > 0)
  expect(a.failures[0]!.message).toContain('cannot connect to 127.0.0.1:1531')
  expect(a.failures[0]!.message).toContain('use_fallback is false')
})

it('an address that leads nowhere is an error of the address', async () => {
  const a = await bedOn().start('a', {
    device: 'shm0',
    in: { address: '127.0.0.1:1540' },
    out: { address: '192.0.2.1:1541', use_fallback: false },
  })
  await until(() => a.failures.length > 0)
  expect(a.failures[0]!.message).toContain('RDMA_CM_EVENT_ADDR_ERROR')
})

it('an address that is taken, and one of no device, are errors of the start', async () => {
  const bed = bedOn()
  await bed.start('a', at(1550))
  await expect(bed.start('b', at(1550))).rejects.toThrow('EADDRINUSE')
  await expect(bed.start('c', { device: 'shm0', in: { address: '192.0.2.1:1' } })).rejects.toThrow('EADDRNOTAVAIL')
})

it('the connection ends and begins again, with nothing held for ever', async () => {
  const bed = bedOn()
  const b = await bed.start('b', at(1561))
  for (let round = 1; round <= 3; round++) {
    const a = await bed.start('a', at(1560, 1561))
    await connected(a, b)
    await works(a, b)
    await a.stop()
    await until(() => b.state === 'started')
    expect(b.counters).toMatchObject({ connections: round, disconnects: round })
  }
  expect(await bed.stop()).toBe(0)
})

it('an active node connects again when its peer is back', async () => {
  const bed = bedOn()
  let b = await bed.start('b', at(1571))
  const a = await bed.start('a', at(1570, 1571))
  await connected(a, b)
  await b.stop()
  await until(() => a.state === 'started')
  b = await bed.start('b', at(1571))
  await connected(a, b)
  await works(a, b)
  expect(a.counters).toMatchObject({ connections: 2, disconnects: 1 })
})

it('what arrived before the end is read after it', async () => {
  const bed = bedOn()
  const b = await bed.start('b', at(1581))
  const a = await bed.start('a', at(1580, 1581))
  await connected(a, b)
  for (let i = 0; i < 128; i++) b.read()
  for (let i = 0; i < 20; i++) expect(a.write([i])).toBe(1)
  await a.stop()
  await until(() => b.state === 'started')
  const got: number[] = []
  await until(
    () => got.length === 20,
    () => void got.push(...b.read()),
  )
  expect(got).toEqual(Array.from({ length: 20 }, (_, i) => i))
  expect(await bed.stop()).toBe(0)
})

it('samples that nobody has read belong to the pool again when the node stops', async () => {
  const bed = bedOn()
  const b = await bed.start('b', at(1591))
  const a = await bed.start('a', at(1590, 1591))
  await connected(a, b)
  for (let i = 0; i < 128; i++) b.read()
  for (let i = 0; i < 100; i++) a.write([i])
  expect(await bed.stop()).toBe(0)
})

it('a second peer is rejected', async () => {
  const bed = bedOn()
  const b = await bed.start('b', at(1601))
  const a = await bed.start('a', at(1600, 1601))
  await connected(a, b)
  const c = await bed.start('c', at(1602, 1601))
  await until(() => c.counters.connect_failed! > 0)
  expect(b.counters.requests_rejected).toBe(1)
  expect(c.lines.join()).toContain('reason 28')
  await works(a, b)
})

it('UD: a passive node sends to whoever has connected, also before anything came from there', async () => {
  const bed = bedOn()
  const ud = (settings: object) => ({ ...settings, rdma_transport_mode: 'UD' })
  const b = await bed.start('b', ud(at(1631)))
  for (let round = 1; round <= 2; round++) {
    const a = await bed.start('a', ud(at(1630, 1631)))
    await until(() => b.counters.connections === round)
    await connected(a, b)
    await works(b, a)
    await works(a, b)
    await a.stop()
  }
  expect(await bed.stop()).toBe(0)
})

it('UD: who does not say where it is gets nothing', async () => {
  const bed = bedOn()
  const b = await bed.start('b', { ...at(1641), rdma_transport_mode: 'UD' })
  const id: CmId = createId(PortSpace.Udp, { device: 'shm0' })
  await id.resolveAddrAsync(undefined, { address: '127.0.0.1', port: 1641 })
  await id.resolveRouteAsync()
  id.createQp()
  await id.connectAsync()
  await connected(b)
  expect(b.write([1])).toBe(0)
  expect(b.counters).toMatchObject({ not_connected: 1, sent: 0, disconnects: 0 })
  id.close()
})

it('messages that are no samples are counted, and the samples between them arrive', async () => {
  const bed = bedOn()
  const b = await bed.start('b', at(1611))
  const id: CmId = createId(PortSpace.Tcp, { device: 'shm0' })
  await id.resolveAddrAsync(undefined, { address: '127.0.0.1', port: 1611 })
  await id.resolveRouteAsync()
  const qp = id.createQp()
  await id.connectAsync()
  await connected(b)
  for (let i = 0; i < 128; i++) b.read()
  const buffer = id.verbs!.alloc(4096)
  const mr = qp.pd.regMr(buffer, 1)
  new BigUint64Array(buffer.buffer, buffer.byteOffset, 2).set([5n, 1_000_005n])
  new BigUint64Array(buffer.buffer, buffer.byteOffset + 16, 1).set([5n])
  for (const length of [7, 24, 25, 8])
    qp.postSend({ opcode: Opcode.Send, sgList: [{ addr: mr.addr, length, lkey: mr.lkey }] })
  const got: number[] = []
  await until(
    () => b.counters.malformed === 3,
    () => void got.push(...b.read()),
  )
  expect(got).toEqual([5])
  // More than a sample has room for ends the connection, as the verbs do.
  qp.postSend({ opcode: Opcode.Send, sgList: [{ addr: mr.addr, length: 4000, lkey: mr.lkey }] })
  await until(
    () => b.state === 'started',
    () => void b.read(),
  )
  expect(b.lines.join()).toContain('local length error')
  mr.close()
  id.close()
  expect(await bed.stop()).toBe(0)
})

it.each(['UC', 'UD'])('%s over a link that loses packets: what is missing is what was lost', async (mode) => {
  const bed = bedOn({})
  const port = mode === 'UC' ? 1620 : 1622
  const lossy = openDevice(loopbackDevice(7), { wrap: [faults({ loss: 0.1, direction: 'in', seed: 3 })] })
  const settings = (n: number) => ({ rdma_transport_mode: mode, in: { address: `${loopbackAddress(n)}:${port}` } })
  const b = await bed.start('b', settings(7))
  const a = await bed.start('a', { ...settings(8), out: { address: `${loopbackAddress(7)}:${port}` } })
  await connected(a, b)
  for (let i = 0; i < 128; i++) b.read()
  const lost = () => lossy.counters().injected_losses!
  const before = lost()
  const got: number[] = []
  const count = 2000
  for (let i = 0; i < count; i++) {
    a.write([i])
    await until(
      () => got.length + lost() - before === i + 1,
      () => void got.push(...b.read()),
    )
  }
  expect(lost() - before).toBeGreaterThan(count / 20)
  expect(b.counters.received).toBe(count - (lost() - before))
  expect(new Set(got).size).toBe(got.length)
  await bed.stop()
  lossy.close()
})
