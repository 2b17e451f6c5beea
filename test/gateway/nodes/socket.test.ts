/** The node-type socket: its settings, datagrams and connections on this machine, peers that misbehave or go away. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { type Settings, SettingsReader } from '../../../src/gateway/index.ts'
import { startDgram } from '../../../src/gateway/nodes/socket/dgram.ts'
import { socketSettings } from '../../../src/gateway/nodes/socket/settings.ts'
import { nativeAvailable } from '../../../src/memory/index.ts'
import { freeTcpPort, freeUdpPort } from './ports.ts'
import { samplesOf, TestNode, until, wrongWith } from './running.ts'

const nodes: TestNode[] = []
const folders: string[] = []

async function start(settings: Settings): Promise<TestNode> {
  const node = await TestNode.start({ type: 'socket', ...settings })
  nodes.push(node)
  return node
}

afterEach(async () => {
  for (const node of nodes.splice(0)) await node.stop()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function folder(): string {
  folders.push(mkdtempSync(join(tmpdir(), 'socket-')))
  return folders.at(-1)!
}

const at = (port: number): string => `127.0.0.1:${port}`

describe('settings', () => {
  it.each([
    [{}, 'in.address and out.address are missing'],
    [{ in: { address: '127.0.0.1' } }, 'node.in: address: "127.0.0.1" is not valid. Expected a host and a port'],
    [{ in: { address: ':12000' } }, ''],
    [{ out: { address: ':12000' } }, 'Expected a host and a port'],
    [{ in: { address: '127.0.0.1:99999' } }, 'Expected a host and a port from 1 to 65535'],
    [{ in: { adress: '*:1' } }, "node.in has no setting 'adress'. Did you mean 'address'?"],
    [{ layer: 'eth', in: { address: '*:1' } }, "layer: 'eth' needs raw sockets"],
    [{ layer: 'tcp-client', in: { address: '*:1' } }, 'node.out: address: is missing'],
    [{ layer: 'tcp-server', out: { address: '*:1' } }, 'node.in: address: is missing'],
    [{ layer: 'unix', in: { address: '*:1' } }, 'the path of a UNIX socket'],
    [{ layer: 'unix', in: { address: `/${'x'.repeat(107)}` } }, 'has at most 107 bytes'],
    [{ layer: 'udp', in: { address: '/run/a' } }, 'paths are for the layer unix'],
    [{ in: { address: '*:1' }, verify_source: true }, 'verify_source compares with out.address'],
    [{ in: { address: '*:1', multicast: { group: '10.0.0.1' } } }, 'an address in 224.0.0.0/4'],
    [
      { in: { address: '*:1' }, format: 'villas.bin' },
      "format: 'villas.bin' is not known. Did you mean 'villas.binary'?",
    ],
    [{ in: { address: '*:1' }, out: { address: '[::1]:2' }, format: { type: 'csv', separator: ';' } }, ''],
  ] as [Settings, string][])('%j', async (settings, message) => {
    const wrong = await wrongWith({ type: 'socket', ...settings })
    if (message === '') expect(wrong).toBe('')
    else expect(wrong).toContain(message)
  })
})

describe('udp', () => {
  it.each(['villas.binary', 'villas.human', 'csv', 'json'])(
    'carries %s both ways, several samples to a datagram',
    async (format) => {
      const [a, b] = [await freeUdpPort(), await freeUdpPort()]
      const left = await start({ format, in: { address: at(a) }, out: { address: at(b) }, verify_source: true })
      const right = await start({ format, in: { address: at(b) }, out: { address: at(a) }, verify_source: true })
      expect(left.write(1, 2, 3)).toBe(3)
      expect(await right.read(3)).toEqual(samplesOf(1, 2, 3))
      right.write(4)
      expect(await left.read(1)).toEqual(samplesOf(4))
      expect(left.counters).toEqual({ sent: 3 })
    },
  )

  it('reads a datagram that has more samples than are asked for', async () => {
    const port = await freeUdpPort()
    const left = await start({ out: { address: at(port) } })
    const right = await start({ in: { address: at(port) } })
    const many = Array.from({ length: 40 }, (_, i) => i)
    left.write(...many)
    expect(await right.read(40)).toEqual(samplesOf(...many))
  })

  it.each([
    ['villas.binary', ['nonsense', '', '\x20\0\0\x08short']],
    ['json', ['nonsense', '', '{"data": [1, 2']],
    ['csv', ['nonsense', '', '1,2,0,3,x\n']],
  ])('counts what is malformed as %s, and reads what comes next', async (format, malformed) => {
    const port = await freeUdpPort()
    const node = await start({ format, in: { address: at(port) } })
    const peer = createSocket('udp4')
    for (const bytes of malformed) peer.send(bytes, port, '127.0.0.1')
    const good = await start({ format, out: { address: at(port) } })
    await until(() => {
      expect(node.take()).toEqual([])
      return node.counters.malformed === 2
    })
    good.write(7)
    expect(await node.read(1)).toEqual(samplesOf(7))
    expect(node.counters).toEqual({ malformed: 2 })
    expect(node.logs).toHaveLength(1)
    peer.close()
  })

  it('drops what comes from elsewhere, and counts it', async () => {
    const [a, b] = [await freeUdpPort(), await freeUdpPort()]
    const node = await start({ in: { address: at(a) }, out: { address: at(b) }, verify_source: true })
    const stranger = await start({ out: { address: at(a) } })
    const friend = await start({ in: { address: at(b) }, out: { address: at(a) } })
    stranger.write(1)
    friend.write(2)
    expect(await node.read(1)).toEqual(samplesOf(2))
    await until(() => node.take().length === 0 && node.counters.wrong_source === 1)
  })

  it('carries datagrams that are longer than a packet', async () => {
    const port = await freeUdpPort()
    const node = await start({ in: { address: at(port) } })
    const peer = createSocket('udp4')
    const message = Buffer.alloc(32)
    message.writeUInt32BE(0x2000_0004, 0)
    peer.send(Buffer.concat(new Array<Buffer>(500).fill(message)), port, '127.0.0.1')
    expect(await node.read(500)).toHaveLength(500)
    peer.close()
  })

  it('carries IPv6', async () => {
    const port = await freeUdpPort()
    const right = await start({ in: { address: `[::1]:${port}` } })
    const left = await start({ out: { address: `[::1]:${port}` } })
    left.write(5)
    expect(await right.read(1)).toEqual(samplesOf(5))
  })

  it('receives what is sent to a multicast group, on the interface that the settings name', async () => {
    const port = await freeUdpPort()
    const multicast = { group: '239.1.2.3', interface: '127.0.0.1', loop: true, ttl: 1 }
    const right = await start({ in: { address: `*:${port}`, multicast } })
    const left = await start({
      in: { address: `*:${await freeUdpPort()}`, multicast },
      out: { address: `239.1.2.3:${port}` },
    })
    left.write(1, 2)
    expect(await right.read(2)).toEqual(samplesOf(1, 2))
  })

  it('is carried by the sockets of Node.js, too, where there are no others', async () => {
    const [a, b] = [await freeUdpPort(), await freeUdpPort()]
    const end = async (local: number, remote: number, multicast = {}): Promise<TestNode> => {
      const settings = {
        in: { address: `*:${local}`, ...multicast },
        out: { address: at(remote) },
        verify_source: true,
      }
      const parsed = socketSettings(new SettingsReader('node', { type: 'socket', ...settings }))
      nodes.push(await TestNode.of('4f', (context) => startDgram(context, parsed)))
      return nodes.at(-1)!
    }
    const left = await end(a, b)
    const right = await end(b, a, { multicast: { group: '239.1.2.4', interface: '127.0.0.1' } })
    const stranger = await start({ out: { address: at(b) } })
    stranger.write(9)
    expect(left.write(1, 2)).toBe(2)
    expect(await right.read(2)).toEqual(samplesOf(1, 2))
    await until(() => right.counters.wrong_source === 1)
    right.write(3)
    expect(await left.read(1)).toEqual(samplesOf(3))
  })

  it('says which address cannot be bound', async () => {
    await expect(start({ in: { address: '192.0.2.1:5000' } })).rejects.toThrow(/^192\.0\.2\.1/)
  })
})

describe.skipIf(!nativeAvailable)('unix', () => {
  it('carries datagrams between paths; what nobody takes is counted', async () => {
    const path = folder()
    const [a, b] = [join(path, 'a'), join(path, 'b')]
    const left = await start({ layer: 'unix', in: { address: a }, out: { address: b } })
    expect(left.write(1)).toBe(0)
    expect(left.counters).toEqual({ not_connected: 1 })
    const right = await start({ layer: 'unix', in: { address: b }, out: { address: a }, verify_source: true })
    const stranger = await start({ layer: 'unix', out: { address: b } })
    left.write(2, 3)
    stranger.write(4)
    right.write(5)
    expect(await right.read(2)).toEqual(samplesOf(2, 3))
    await until(() => right.take().length === 0 && right.counters.wrong_source === 1)
    expect(await left.read(1)).toEqual(samplesOf(5))
  })
})

describe('tcp', () => {
  it.each(['villas.binary', 'villas.human', 'json'])('carries %s both ways', async (format) => {
    const port = await freeTcpPort()
    const server = await start({ layer: 'tcp-server', format, in: { address: at(port) } })
    const client = await start({ layer: 'tcp-client', format, out: { address: at(port) } })
    await until(() => client.node.state === 'connected' && server.node.state === 'connected')
    client.write(1, 2)
    expect(await server.read(2)).toEqual(samplesOf(1, 2))
    server.write(3)
    expect(await client.read(1)).toEqual(samplesOf(3))
  })

  it('carries UNIX streams', async () => {
    const path = join(folder(), 'stream')
    const server = await start({ layer: 'tcp-server', in: { address: path } })
    const client = await start({ layer: 'tcp-client', out: { address: path } })
    await until(() => client.node.state === 'connected')
    client.write(1)
    expect(await server.read(1)).toEqual(samplesOf(1))
  })

  it('connects again when the server has gone and come back; what was lost is counted', async () => {
    const port = await freeTcpPort()
    const settings = { layer: 'tcp-server', in: { address: at(port) } }
    const client = await start({ layer: 'tcp-client', out: { address: at(port) } })
    expect(client.write(1)).toBe(0)
    const first = await TestNode.start({ type: 'socket', ...settings })
    await until(() => client.node.state === 'connected')
    client.write(2)
    expect(await first.read(1)).toEqual(samplesOf(2))
    await first.stop()
    await until(() => client.node.state !== 'connected')
    client.write(3, 4)
    const second = await start(settings)
    await until(() => client.node.state === 'connected')
    client.write(5)
    expect(await second.read(1)).toEqual(samplesOf(5))
    expect(client.counters).toEqual({ not_connected: 3, connections: 2, disconnects: 1, sent: 2 })
  })

  it('begins each connection with the line of names, if there is one', async () => {
    const port = await freeTcpPort()
    const texts: string[] = []
    const server = createServer((peer) => {
      const place = texts.push('') - 1
      peer.on('data', (bytes) => {
        texts[place] += String(bytes)
        if (texts[place]!.endsWith('\n')) peer.destroy()
      })
    }).listen(port)
    const format = { type: 'csv', header: true }
    const client = await start({ layer: 'tcp-client', format, out: { address: at(port) } })
    for (const round of [1, 2]) {
      await until(() => client.node.state === 'connected' && client.counters.connections === round)
      client.write(round)
      await until(() => client.counters.disconnects === round)
    }
    expect(texts).toEqual([
      expect.stringMatching(/^# secs.*\n.*,1\.0.*\n$/),
      expect.stringMatching(/^# secs.*\n.*,2\.0.*\n$/),
    ])
    server.close()
  })

  it('ends the connection of a peer that sends what is no message, and goes on with the others', async () => {
    const port = await freeTcpPort()
    const server = await start({ layer: 'tcp-server', in: { address: at(port) } })
    const peer = connect(port, '127.0.0.1')
    peer.on('error', () => {})
    peer.write('GET / HTTP/1.1\r\n\r\n')
    await once(peer, 'close')
    expect(server.counters).toMatchObject({ malformed: 1 })
    const client = await start({ layer: 'tcp-client', out: { address: at(port) } })
    await until(() => client.node.state === 'connected')
    client.write(1)
    expect(await server.read(1)).toEqual(samplesOf(1))
  })

  it('makes a sender wait while nothing is read, and loses nothing', async () => {
    const port = await freeTcpPort()
    const server = await start({ layer: 'tcp-server', in: { address: at(port) } })
    const peer = connect(port, '127.0.0.1')
    const message = Buffer.from('200000010000000000000000000000003f800000', 'hex')
    const count = 20_000
    peer.end(Buffer.concat(new Array<Buffer>(count).fill(message)))
    // All that the peer sends is on its way, and more than the node keeps has come.
    await once(peer, 'finish')
    expect(await server.read(count)).toHaveLength(count)
    await until(() => server.counters.disconnects === 1)
    expect(server.counters).toEqual({ connections: 1, disconnects: 1 })
  })
})
