/** The node-type websocket against Debian's python3-websockets, as server and as client. */
import { afterEach, describe, expect, it } from 'vitest'
import type { Settings } from '../../../src/gateway/index.ts'
import { freeTcpPort } from '../../gateway/nodes/ports.ts'
import { samplesOf, TestNode, until } from '../../gateway/nodes/running.ts'
import { hasModule, Peer, python } from './peer.ts'

/** Sends a message for each line of its input, and prints what comes: "text …", or "binary" and the bytes in hexadecimal. */
const program = `
import asyncio, sys, threading, websockets
role, where = sys.argv[1:]
async def talk(socket):
    print('connected', socket.subprotocol, flush=True)
    loop, lines = asyncio.get_running_loop(), asyncio.Queue()
    def read():
        for line in sys.stdin: loop.call_soon_threadsafe(lines.put_nowait, line.strip())
    threading.Thread(target=read, daemon=True).start()
    async def send():
        while True:
            kind, text = (await lines.get()).split(' ', 1)
            await socket.send(bytes.fromhex(text) if kind == 'binary' else text)
    sending = asyncio.create_task(send())
    try:
        async for message in socket:
            print('text ' + message if isinstance(message, str) else 'binary ' + message.hex(), flush=True)
    except websockets.ConnectionClosed: pass
    sending.cancel()
    print('closed', socket.close_code, flush=True)
async def main():
    if role == 'client':
        async with websockets.connect(where, subprotocols=['live']) as socket: await talk(socket)
    else:
        async with websockets.serve(talk, '127.0.0.1', int(where), subprotocols=['live']):
            print('ready', flush=True)
            await asyncio.Future()
asyncio.run(main())
`

const message = '2000040001000000' + '01105e5f' + '00000000' + '0000803f' + '00000040' + '00004040' + '00008040'
const json = '[{"ts": {"origin": [1600000001, 0]}, "sequence": 1, "data": [1.0, 2.0, 3.0, 4.0]}]'

describe.skipIf(!hasModule('websockets', 'python3-websockets'))('websocket and websockets of Python', () => {
  const nodes: TestNode[] = []
  const peers: Peer[] = []
  afterEach(async () => {
    for (const node of nodes.splice(0)) await node.stop()
    for (const peer of peers.splice(0)) await peer.kill()
  })

  async function start(settings: Settings): Promise<TestNode> {
    const node = await TestNode.start({ type: 'websocket', ...settings })
    nodes.push(node)
    return node
  }

  function peer(...parameters: string[]): Peer {
    const started = new Peer(python, '-c', program, ...parameters)
    peers.push(started)
    return started
  }

  async function talks(node: TestNode, other: Peer, sent: string): Promise<void> {
    await until(() => other.lines.includes('connected live') && node.node.state === 'connected')
    node.write(1)
    await until(() => other.lines.includes(sent))
    other.write(`${sent}\n`)
    expect(await node.read(1)).toEqual(samplesOf(1))
    other.write('text nonsense\n')
    await until(() => node.counters.malformed === 1)
    other.write(`${sent}\n`)
    expect(await node.read(1)).toEqual(samplesOf(1))
  }

  it.each([
    ['node', `binary ${message}`],
    ['node.json', `text ${json}`],
  ])('a client at /%s', async (path, sent) => {
    const port = await freeTcpPort()
    const node = await start({ port })
    const client = peer('client', `ws://127.0.0.1:${port}/${path}`)
    await talks(node, client, sent)
    await node.stop()
    nodes.length = 0
    await until(() => client.lines.includes('closed 1001'))
  })

  it.each([
    ['there', `binary ${message}`],
    ['there.json', `text ${json}`],
  ])('a server at /%s, which is killed and comes again', async (path, sent) => {
    const port = await freeTcpPort()
    const server = peer('server', String(port))
    await server.ready()
    const node = await start({ destinations: [`ws://127.0.0.1:${port}/${path}`] })
    await talks(node, server, sent)
    await server.kill()
    await until(() => node.node.state === 'pending connect')
    expect(node.write(2)).toBe(0)
    expect(node.counters.not_connected).toBe(1)
    const again = peer('server', String(port))
    await until(() => again.lines.includes('connected live'))
    await until(() => node.node.state === 'connected')
    node.write(1)
    await until(() => again.lines.includes(sent))
    expect(node.counters).toMatchObject({ connections: 2, disconnects: 1 })
  })
})
