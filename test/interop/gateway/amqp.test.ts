/** The node-type amqp against rabbitmq-server. */
import { connect } from 'amqplib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freeTcpPort } from '../../gateway/nodes/ports.ts'
import { samplesOf, TestNode, until } from '../../gateway/nodes/running.ts'
import { Daemon, hasCommand } from './daemon.ts'
import { Relay } from './relay.ts'

const present = hasCommand('epmd', 'erlang-base') && hasCommand('rabbitmq-server', 'rabbitmq-server')

describe.skipIf(!present)('amqp and rabbitmq-server', () => {
  let names: Daemon
  let broker: Daemon
  let uri: string
  const nodes: TestNode[] = []

  beforeAll(async () => {
    const port = await freeTcpPort()
    const namesPort = await freeTcpPort()
    uri = `amqp://guest:guest@127.0.0.1:${port}`
    // Erlang's service of names, which the broker would start for good.
    names = new Daemon('epmd', namesPort)
    await names.start(['-port', String(namesPort), '-address', '127.0.0.1'])
    // The command in the PATH changes its user.
    broker = new Daemon('/usr/lib/rabbitmq/bin/rabbitmq-server', port)
    const { folder } = broker
    await broker.start([], {
      HOME: folder,
      RABBITMQ_NODENAME: `verbena${port}@localhost`,
      RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
      RABBITMQ_NODE_PORT: String(port),
      RABBITMQ_DIST_PORT: String(await freeTcpPort()),
      ERL_EPMD_PORT: String(namesPort),
      RABBITMQ_MNESIA_BASE: `${folder}/mnesia`,
      RABBITMQ_LOG_BASE: `${folder}/log`,
      RABBITMQ_LOGS: '-',
      RABBITMQ_PID_FILE: `${folder}/pid`,
      RABBITMQ_ENABLED_PLUGINS_FILE: broker.write('plugins', '[].'),
    })
  })

  afterAll(async () => {
    for (const node of nodes) await node.stop()
    await broker.stop()
    await names.stop()
  })

  async function start(key: string, directions: { in: boolean; out: boolean }, more = {}): Promise<TestNode> {
    const settings = { type: 'amqp', uri, exchange: 'villas', routing_key: key, ...more }
    const node = await TestNode.start(settings, '4f', directions)
    nodes.push(node)
    await until(() => node.node.state === 'connected')
    return node
  }

  const reads = { in: true, out: false }
  const writes = { in: false, out: true }

  it.each(['json', 'villas.binary'])('carries %s between its own ends, by the routing key', async (format) => {
    const right = await start(format, reads, { format })
    const other = await start('other', reads, { format })
    const left = await start(format, writes, { format })
    left.write(1, 2)
    left.write(3)
    expect(await right.read(3)).toEqual(samplesOf(1, 2, 3))
    expect(other.take()).toEqual([])
  })

  it('exchanges messages with another client, and counts what is malformed', async () => {
    const node = await start('them', { in: true, out: true })
    const client = await connect(uri)
    const channel = await client.createChannel()
    const { queue } = await channel.assertQueue('', { exclusive: true })
    await channel.bindQueue(queue, 'villas', 'them')
    channel.publish('villas', 'them', Buffer.from('{"data": '))
    channel.publish('villas', 'them', Buffer.from('{"sequence": 4, "data": [1.5]}'))
    expect(await node.read(1)).toMatchObject([{ sequence: 4, values: [1.5] }])
    expect(node.counters).toMatchObject({ malformed: 1 })
    const messages: string[] = []
    await channel.consume(queue, (message) => void messages.push(message!.content.toString()), { noAck: true })
    node.write(5)
    await until(() => messages.length === 3)
    expect(messages[2]).toBe('[{"ts": {"origin": [1600000005, 0]}, "sequence": 5, "data": [5.0, 10.0, 15.0, 20.0]}]')
    await client.close()
  })

  it('says what the broker says to a wrong password, and to an exchange of another type', async () => {
    const client = await connect(uri)
    await (await client.createChannel()).assertExchange('fan', 'fanout', { durable: false })
    for (const [more, reason] of [
      [{ uri: uri.replace('guest:guest', 'guest:wrong') }, /ACCESS.REFUSED/],
      [{ exchange: 'fan' }, /PRECONDITION.FAILED/],
    ] as const) {
      const node = await TestNode.start({ type: 'amqp', uri, exchange: 'villas', routing_key: 'x', ...more })
      await until(() => node.logs.length > 0)
      expect(node.logs[0]).toMatch(reason)
      await node.stop()
    }
    await client.close()
  })

  // Cut off, and without the exchange, it is as if it were killed and started again, which takes five seconds.
  it('goes on when the broker has gone and come back; what was lost is counted', async () => {
    const relay = new Relay(await freeTcpPort(), Number(new URL(uri).port))
    await relay.open()
    const through = { uri: `amqp://guest:guest@127.0.0.1:${relay.port}`, exchange: 'passing' }
    const right = await start('again', reads, through)
    const left = await start('again', writes, through)
    left.write(1)
    expect(await right.read(1)).toEqual(samplesOf(1))
    await relay.cut()
    await until(() => left.node.state !== 'connected' && right.node.state !== 'connected')
    expect(left.write(2, 3)).toBe(0)
    const client = await connect(uri)
    await (await client.createChannel()).deleteExchange('passing')
    await client.close()
    await relay.open()
    await until(() => left.node.state === 'connected' && right.node.state === 'connected')
    left.write(4)
    expect(await right.read(1)).toEqual(samplesOf(4))
    expect(left.counters).toEqual({ sent: 2, connections: 2, disconnects: 1, not_connected: 2 })
    for (const node of [left, right]) await node.stop()
    nodes.length -= 2
    await relay.cut()
  })
})
