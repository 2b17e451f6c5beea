/** The node-type zeromq against libzmq in another process, through Debian's python3-zmq. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import type { Settings } from '../../../src/gateway/index.ts'
import { freeTcpPort } from '../../gateway/nodes/ports.ts'
import { samplesOf, TestNode, until } from '../../gateway/nodes/running.ts'
import { hasModule, Peer, python } from './peer.ts'

/** A publisher sends a message for each line of its input, `A B` as two parts; a subscriber prints what comes, in hexadecimal. */
const program = `
import sys, zmq
kind, endpoint, topic, server_key, public, secret = (sys.argv[1:] + [''] * 6)[:6]
context = zmq.Context()
socket = context.socket(zmq.PUB if kind == 'pub' else zmq.SUB)
socket.linger = 0
if secret:
    socket.curve_publickey, socket.curve_secretkey = public.encode(), secret.encode()
    if server_key: socket.curve_serverkey = server_key.encode()
if kind == 'pub':
    socket.bind(endpoint)
    print('ready', flush=True)
    for line in sys.stdin:
        socket.send_multipart([bytes.fromhex(part) for part in line.split()])
else:
    socket.subscribe(topic.encode())
    socket.connect(endpoint)
    print('ready', flush=True)
    while True:
        print(' '.join(part.hex() for part in socket.recv_multipart()), flush=True)
`

function send(peer: Peer, ...parts: (string | Buffer)[]): void {
  peer.write(`${parts.map((part) => Buffer.from(part).toString('hex')).join(' ')}\n`)
}

describe.skipIf(!hasModule('zmq', 'python3-zmq'))('zeromq and libzmq', () => {
  const nodes: TestNode[] = []
  const peers: Peer[] = []

  async function start(settings: Settings): Promise<TestNode> {
    const node = await TestNode.start({ type: 'zeromq', ...settings })
    nodes.push(node)
    return node
  }

  async function peer(...parameters: string[]): Promise<Peer> {
    const started = new Peer(python, '-c', program, ...parameters)
    peers.push(started)
    await started.ready()
    return started
  }

  afterEach(async () => {
    for (const node of nodes.splice(0)) await node.stop()
    for (const one of peers.splice(0)) await one.kill()
  })

  const json = (sequence: number): string => `{"sequence": ${sequence}, "data": [1.5]}`

  /** A subscription reaches its publisher some time after the connection: messages are sent until one arrives. */
  async function firstArrives(send: () => void, arrived: () => boolean): Promise<void> {
    for (; !arrived(); await sleep(10)) send()
  }

  it.each(['', 'ab184'])('publishes to a subscriber, with the filter %j', async (filter) => {
    const port = await freeTcpPort()
    const node = await start({ out: { publish: `tcp://127.0.0.1:${port}`, ...(filter && { filter }) } })
    const subscriber = await peer('sub', `tcp://127.0.0.1:${port}`, filter)
    await until(() => node.node.state === 'connected')
    await firstArrives(
      () => node.write(0),
      () => subscriber.lines.length > 1,
    )
    node.write(1, 2)
    const message =
      '20000004' + '00000001' + '5f5e1001' + '00000000' + '3f800000' + '40000000' + '40400000' + '40800000'
    await until(() => subscriber.lines.at(-1)!.includes(message))
    const parts = subscriber.lines.at(-1)!.split(' ')
    expect(parts.slice(0, -1)).toEqual(filter ? [Buffer.from(filter).toString('hex')] : [])
    expect(parts.at(-1)).toHaveLength(2 * message.length)
  })

  it('subscribes to publishers, counts what is malformed, and goes on when one was killed and started again', async () => {
    const port = await freeTcpPort()
    const endpoint = `tcp://127.0.0.1:${port}`
    const first = await peer('pub', endpoint)
    const node = await start({ format: 'json', in: { subscribe: [endpoint], filter: 'f' } })
    await firstArrives(
      () => send(first, 'f', json(0)),
      () => node.take().length > 0,
    )
    send(first, 'other', json(1))
    send(first, 'f', 'nonsense')
    send(first, 'f', json(2))
    await until(() => node.take().some(({ sequence }) => sequence === 2))
    expect(node.counters).toMatchObject({ malformed: 1 })
    await first.kill()
    await until(() => node.node.state !== 'connected')
    const second = await peer('pub', endpoint)
    await firstArrives(
      () => send(second, 'f', json(3)),
      () => node.take().length > 0,
    )
    expect(node.counters).toMatchObject({ connections: 2, disconnects: 1 })
  })

  it('encrypts', async () => {
    const port = await freeTcpPort()
    const endpoint = `tcp://127.0.0.1:${port}`
    const { curveKeyPair } = await import('zeromq')
    const [ours, theirs] = [curveKeyPair(), curveKeyPair()]
    const node = await start({
      out: { publish: endpoint },
      curve: { public_key: ours.publicKey, secret_key: ours.secretKey },
    })
    const reader = await start({
      in: { subscribe: endpoint },
      curve: { public_key: ours.publicKey, secret_key: ours.secretKey },
    })
    const subscriber = await peer('sub', endpoint, '', ours.publicKey, theirs.publicKey, theirs.secretKey)
    await firstArrives(
      () => node.write(1),
      () => reader.take().length > 0 && subscriber.lines.length > 1,
    )
    const stranger = await peer('sub', endpoint, '')
    // If the stranger is the first to see that the ends do not fit, libzmq reports the end of a connection only.
    await until(() => node.counters.rejected !== undefined || node.counters.disconnects !== undefined)
    expect(stranger.lines).toEqual(['ready'])
  })

  it('has RADIO and DISH', async () => {
    const port = await freeTcpPort()
    const endpoint = `tcp://127.0.0.1:${port}`
    const left = await start({ pattern: 'radiodish', out: { publish: endpoint, filter: 'g' } })
    const right = await start({ pattern: 'radiodish', in: { subscribe: endpoint, filter: 'g' } })
    const found = right.take()
    await firstArrives(
      () => left.write(5),
      () => found.push(...right.take()) > 0,
    )
    expect(found[0]).toEqual(samplesOf(5)[0])
  })
})
