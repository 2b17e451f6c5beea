/** The node-type websocket: settings, both roles, formats, peers that misbehave or go away. */
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import type { Settings } from '../../../src/gateway/index.ts'
import { checkSettings } from '../../../src/gateway/load/index.ts'
import { SuperNode } from '../../../src/gateway/runtime/index.ts'
import { freeTcpPort } from './ports.ts'
import { samplesOf, TestNode, until, wrongWith } from './running.ts'

const nodes: TestNode[] = []

async function start(settings: Settings): Promise<TestNode> {
  const node = await TestNode.start({ type: 'websocket', ...settings })
  nodes.push(node)
  return node
}

afterEach(async () => {
  for (const node of nodes.splice(0)) await node.stop()
})

it.each([
  [{}, ''],
  [{ destinations: ['mqtt://a/b'] }, 'Expected URIs such as ws://HOST:PORT/NODE'],
  [{ destinations: ['ws://a:1/'] }, 'Expected URIs such as ws://HOST:PORT/NODE'],
  [{ destinations: ['ws://a:1/b.xml'] }, 'ws://a:1/b.xml: there is no format xml'],
  [{ port: 1, in: { address: '' } }, "node.in has no setting 'address'"],
  [{ destinations: ['wss://a/b.json', 'ws://a:1/b.villas.human', 'https://a//relay/b'], port: 80, address: '::' }, ''],
] as [Settings, string][])('settings: %j', async (settings, message) => {
  const wrong = await wrongWith({ type: 'websocket', ...settings })
  if (message === '') expect(wrong).toBe('')
  else expect(wrong).toContain(message)
})

describe('client and server', () => {
  it.each(['', '.json', '.csv', '.villas.binary'])('carry samples both ways at /node%s', async (suffix) => {
    const port = await freeTcpPort()
    const server = await start({ port })
    const client = await start({ destinations: [`ws://127.0.0.1:${port}/node${suffix}`] })
    await until(() => client.node.state === 'connected' && server.node.state === 'connected')
    expect(client.write(1, 2)).toBe(2)
    expect(await server.read(2)).toEqual(samplesOf(1, 2))
    server.write(3)
    expect(await client.read(1)).toEqual(samplesOf(3))
  })

  it('send to all peers, each in its format', async () => {
    const port = await freeTcpPort()
    const server = await start({ port })
    const peers = ['node', 'node.json'].map((path) => new WebSocket(`ws://127.0.0.1:${port}/${path}`, 'live'))
    const messages: [string, boolean][] = []
    for (const [i, peer] of peers.entries())
      peer.on('message', (data: Buffer, binary) => {
        messages[i] = [data.toString(binary ? 'hex' : 'utf8'), binary]
      })
    await Promise.all(peers.map((peer) => once(peer, 'open')))
    expect(peers.map(({ protocol }) => protocol)).toEqual(['live', 'live'])
    await until(() => server.counters.connections === 2)
    server.write(1)
    await until(() => messages.filter(Boolean).length === 2)
    expect(messages).toEqual([
      ['2000040001000000' + '01105e5f' + '00000000' + '0000803f' + '00000040' + '00004040' + '00008040', true],
      ['[{"ts": {"origin": [1600000001, 0]}, "sequence": 1, "data": [1.0, 2.0, 3.0, 4.0]}]', false],
    ])
    for (const peer of peers) peer.terminate()
  })

  it('connect again when the server has gone and come back; what was lost is counted', async () => {
    const port = await freeTcpPort()
    const client = await start({ destinations: [`ws://127.0.0.1:${port}/node`] })
    expect(client.write(1)).toBe(0)
    const first = await TestNode.start({ type: 'websocket', port })
    await until(() => client.node.state === 'connected')
    client.write(2)
    expect(await first.read(1)).toEqual(samplesOf(2))
    await first.stop()
    await until(() => client.node.state === 'pending connect')
    client.write(3, 4)
    const second = await start({ port })
    await until(() => client.node.state === 'connected')
    client.write(5)
    expect(await second.read(1)).toEqual(samplesOf(5))
    expect(client.counters).toEqual({ not_connected: 3, connections: 2, disconnects: 1, sent: 2 })
  })

  it('wait_connected: a client has started when all its servers are reached, or when the gateway is to stop', async () => {
    const ports = [await freeTcpPort(), await freeTcpPort()]
    const destinations = ports.map((port) => `ws://127.0.0.1:${port}/node`)
    await start({ port: ports[0] })
    let started = false
    const client = start({ destinations, wait_connected: true }).then((node) => {
      started = true
      return node
    })
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(started).toBe(false)
    await start({ port: ports[1] })
    expect((await client).counters).toEqual({ connections: 2 })
    const { config } = checkSettings({
      nodes: { far: { type: 'websocket', destinations: ['ws://127.0.0.1:1/far'], wait_connected: true } },
      paths: [{ in: 'far' }],
    })
    const lines: string[] = []
    const gateway = await SuperNode.parse(config, { log: (_, __, line) => void lines.push(line) })
    const starting = gateway.start()
    await expect.poll(() => lines).toContain('it waits until all destinations are connected (wait_connected)')
    await gateway.stop()
    await starting
    expect(gateway.state).toBe('stopped')
  })

  it('count messages that are malformed, and go on', async () => {
    const port = await freeTcpPort()
    const server = await start({ port })
    const peer = new WebSocket(`ws://127.0.0.1:${port}/node.json`)
    await once(peer, 'open')
    peer.send('{"data": [1, 2')
    peer.send('{"sequence": 3, "data": [1.5]}')
    expect(await server.read(1)).toMatchObject([{ sequence: 3, values: [1.5] }])
    expect(server.counters).toEqual({ connections: 1, malformed: 1 })
    peer.terminate()
  })

  it('refuse paths that are no node, and formats that do not exist', async () => {
    const port = await freeTcpPort()
    const server = await start({ port })
    for (const path of ['', 'nodes', 'node.xml', 'other.json']) {
      const peer = new WebSocket(`ws://127.0.0.1:${port}/${path}`)
      const [error] = (await once(peer, 'error')) as [Error]
      expect(error.message).toBe('Unexpected server response: 404')
    }
    expect(server.counters).toEqual({ rejected: 4 })
  })

  it('lose nothing in silence when messages come faster than they are read', async () => {
    const port = await freeTcpPort()
    const server = await start({ port })
    const client = await start({ destinations: [`ws://127.0.0.1:${port}/node`] })
    await until(() => client.node.state === 'connected')
    const batch = Array.from({ length: 100 }, (_, i) => i)
    for (let i = 0; i < 10; i++) client.write(...batch)
    await until(() => (server.counters.dropped ?? 0) >= 488)
    expect(server.take()).toHaveLength(512)
    expect(server.counters).toMatchObject({ dropped: 488 })
  })
})

it('says why it cannot listen', async () => {
  const port = await freeTcpPort()
  await start({ port })
  await expect(start({ port })).rejects.toThrow(/^listen EADDRINUSE/)
})
