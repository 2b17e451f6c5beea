/** The node-type kafka against librdkafka's mock cluster, and kcat as the other client. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Settings } from '../../../src/gateway/index.ts'
import { freeTcpPort } from '../../gateway/nodes/ports.ts'
import { samplesOf, TestNode, until } from '../../gateway/nodes/running.ts'
import { hasCommand } from './daemon.ts'
import { KafkaCluster } from './kafka-cluster.ts'
import { Relay } from './relay.ts'

const present = hasCommand('kcat', 'kcat') && hasCommand('openssl', 'openssl')

describe.skipIf(!present)('kafka and librdkafka', () => {
  const cluster = new KafkaCluster()
  const folder = mkdtempSync(join(tmpdir(), 'verbena-kafka-'))
  const nodes: TestNode[] = []

  beforeAll(() => cluster.start())

  afterAll(async () => {
    for (const node of nodes) await node.stop()
    await cluster.kill()
    rmSync(folder, { recursive: true, force: true })
  })

  async function start(settings: Settings): Promise<TestNode> {
    const node = await TestNode.start({ type: 'kafka', server: `127.0.0.1:${cluster.port}`, ...settings })
    nodes.push(node)
    await until(() => node.node.state === 'connected')
    return node
  }

  it.each(['villas.binary', 'json'])(
    'carries %s between its own ends, in order, also many messages',
    async (format) => {
      const right = await start({ format, in: { consume: format, group_id: format } })
      const left = await start({ format, out: { produce: format } })
      left.write(1, 2)
      left.write(3)
      expect(await right.read(3)).toEqual(samplesOf(1, 2, 3))
      const many = Array.from({ length: 400 }, (_, i) => 4 + i)
      for (const each of many) left.write(each)
      expect(await right.read(many.length)).toEqual(samplesOf(...many))
      expect(left.counters).toEqual({ connections: 1, sent: 403 })
      expect(right.counters).toEqual({ connections: 1 })
    },
  )

  it('produces what kcat reads', async () => {
    const node = await start({ format: 'json', out: { produce: 'to.them' } })
    node.write(7)
    expect(await cluster.consume('to.them', 1)).toBe(
      '[{"ts": {"origin": [1600000007, 0]}, "sequence": 7, "data": [7.0, 14.0, 21.0, 28.0]}]\n',
    )
  })

  it('consumes what kcat sends, and counts what is malformed', async () => {
    const node = await start({ format: 'json', in: { consume: 'from-them', group_id: 'us' } })
    await cluster.produce('from-them', '{"sequence": 4, "data": [1.5]}')
    expect(await node.read(1)).toMatchObject([{ sequence: 4, values: [1.5] }])
    await cluster.produce('from-them', '{"data": ')
    await until(() => node.counters.malformed === 1)
    await cluster.produce('from-them', '{"sequence": 9, "data": [2.5]}')
    expect(await node.read(1)).toMatchObject([{ sequence: 9, values: [2.5] }])
    expect(node.counters).toEqual({ connections: 1, malformed: 1 })
  })

  it('goes on where its group has stopped', async () => {
    const settings = { in: { consume: 'kept', group_id: 'keeper' } }
    const left = await start({ out: { produce: 'kept' } })
    const before = await start(settings)
    left.write(1)
    expect(await before.read(1)).toEqual(samplesOf(1))
    await before.stop()
    nodes.splice(nodes.indexOf(before), 1)
    left.write(2)
    expect(await (await start(settings)).read(1)).toEqual(samplesOf(2))
  })

  it('connects by TLS, and not to a broker whose certificate nobody vouches for', async () => {
    const request = 'req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=broker -addext subjectAltName=IP:127.0.0.1'
    const [key, ca] = [join(folder, 'key.pem'), join(folder, 'ca.pem')]
    execFileSync('openssl', [...request.split(' '), '-keyout', key, '-out', ca], { stdio: 'ignore' })
    const relay = new Relay(await freeTcpPort(), cluster.port, {
      tls: { key: readFileSync(key), cert: readFileSync(ca) },
      rewrite: (bytes) => cluster.withPort(bytes, relay.port),
    })
    await relay.open()
    const settings = { server: `127.0.0.1:${relay.port}`, protocol: 'SSL' }
    const both = { ...settings, in: { consume: 'tls', group_id: 'tls' }, out: { produce: 'tls' } }
    const node = await start({ ...both, ssl: { ca } })
    node.write(1)
    expect(await node.read(1)).toEqual(samplesOf(1))
    const other = await TestNode.start({ type: 'kafka', ...both })
    await until(() => other.logs.length > 0)
    expect(other.logs[0]).toMatch(/self.signed certificate/i)
    await other.stop()
    await node.stop()
    nodes.splice(nodes.indexOf(node), 1)
    await relay.cut()
  })

  it('goes on when the broker was killed and another one started in its place; what was lost is counted', async () => {
    const mortal = new KafkaCluster()
    await mortal.start()
    const relay = new Relay(await freeTcpPort(), mortal.port, {
      rewrite: (bytes) => mortal.withPort(bytes, relay.port),
    })
    await relay.open()
    const server = `127.0.0.1:${relay.port}`
    const right = await start({ server, in: { consume: 'again', group_id: 'again' } })
    const left = await start({ server, out: { produce: 'again' } })
    left.write(1)
    expect(await right.read(1)).toEqual(samplesOf(1))
    await mortal.kill()
    await relay.cut()
    await until(() => left.node.state !== 'connected' && right.node.state !== 'connected')
    expect(left.write(2, 3)).toBe(0)
    await mortal.start()
    relay.to = mortal.port
    await relay.open()
    await until(() => left.node.state === 'connected' && right.node.state === 'connected')
    left.write(4)
    expect(await right.read(1)).toEqual(samplesOf(4))
    expect(left.counters).toEqual({ sent: 2, connections: 2, disconnects: 1, not_connected: 2 })
    expect(right.counters).toEqual({ connections: 2, disconnects: 1 })
    for (const node of [left, right]) await node.stop()
    nodes.length -= 2
    await relay.cut()
    await mortal.kill()
  })

  it('reads what was compressed by gzip, and says of other compressions that it cannot', async () => {
    const node = await start({ format: 'json', in: { consume: 'small', group_id: 'small' } })
    const message = `{"sequence": 5,${' '.repeat(1000)}"data": [1]}`
    await cluster.produce('small', message, '-z', 'gzip')
    expect(await node.read(1)).toMatchObject([{ sequence: 5, values: [1] }])
    await cluster.produce('small', message, '-z', 'snappy')
    await until(() => node.logs.some((line) => /ended: Snappy compression not implemented/.test(line)))
    expect(node.counters).toMatchObject({ disconnects: 1 })
  })

  it('comes back to a group that does not know yet that its connection was cut', async () => {
    const relay = new Relay(await freeTcpPort(), cluster.port, {
      rewrite: (bytes) => cluster.withPort(bytes, relay.port),
    })
    await relay.open()
    const server = `127.0.0.1:${relay.port}`
    const left = await start({ out: { produce: 'cut' } })
    const right = await start({ server, in: { consume: 'cut', group_id: 'cut' } })
    // Before the second message is fetched, the first one is committed.
    for (const each of [1, 2]) {
      left.write(each)
      expect(await right.read(1)).toEqual(samplesOf(each))
    }
    await relay.cut()
    await until(() => right.node.state !== 'connected')
    left.write(3)
    await relay.open()
    // The second one comes again if its commit did not get through.
    const after = await right.read(1)
    if (after[0]!.sequence === 2) after.shift()
    if (after.length === 0) after.push(...(await right.read(1)))
    expect(after).toEqual(samplesOf(3))
    expect(right.counters).toEqual({ connections: 2, disconnects: 1 })
    await right.stop()
    nodes.pop()
    await relay.cut()
  })

  it('produces while it waits for its group', async () => {
    const server = `127.0.0.1:${cluster.port}`
    const both = { in: { consume: 'soon', group_id: 'soon' }, out: { produce: 'soon' } }
    const node = await TestNode.start({ type: 'kafka', server, format: 'json', ...both })
    nodes.push(node)
    await until(() => node.write(1) === 1)
    expect(node.node.state).toBe('pending connect')
    expect(await cluster.consume('soon', 1)).toMatch(/"sequence": 1, /)
  })

  it('can be stopped before its group has let it in', async () => {
    const server = `127.0.0.1:${cluster.port}`
    const node = await TestNode.start({ type: 'kafka', server, in: { consume: 'a', group_id: 'b' } })
    await node.stop()
    expect([node.node.state, node.counters, node.logs]).toEqual(['stopped', {}, []])
  })

  it('says once that nobody answers, and can be stopped', async () => {
    const server = `127.0.0.1:${await freeTcpPort()}`
    const node = await TestNode.start({ type: 'kafka', server, in: { consume: 'a', group_id: 'b' } })
    await until(() => node.logs.length > 0)
    expect(node.logs).toEqual([expect.stringMatching(/^warn: .*ECONNREFUSED.*; trying again$/)])
    expect(node.node.state).toBe('pending connect')
    await node.stop()
  })
})
