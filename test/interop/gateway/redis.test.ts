/** The node-type redis against redis-server and redis-cli. */
import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Settings } from '../../../src/gateway/index.ts'
import { freeTcpPort } from '../../gateway/nodes/ports.ts'
import { samplesOf, TestNode, until } from '../../gateway/nodes/running.ts'
import { Daemon, hasCommand } from './daemon.ts'

const present = hasCommand('redis-server', 'redis-server') && hasCommand('redis-cli', 'redis-tools')

describe.skipIf(!present)('redis and redis-server', () => {
  let server: Daemon
  let port: number
  const nodes: TestNode[] = []

  beforeAll(async () => {
    port = await freeTcpPort()
    server = new Daemon('redis-server', port)
    const { folder } = server
    const configuration = `port ${port}
bind 127.0.0.1
save ""
dir ${folder}
unixsocket ${folder}/redis.sock
user guest on >secret ~* &* +@all
`
    await server.start([server.write('redis.conf', configuration)])
  })

  afterAll(async () => {
    for (const node of nodes) await node.stop()
    await server.stop()
  })

  async function start(settings: Settings, directions: { in: boolean; out: boolean }, types = '4f'): Promise<TestNode> {
    const node = await TestNode.start({ type: 'redis', host: '127.0.0.1', port, ...settings }, types, directions)
    nodes.push(node)
    await until(() => node.node.state === 'connected')
    return node
  }

  const reads = { in: true, out: false }
  const writes = { in: false, out: true }
  const cli = (...words: string[]): string =>
    execFileSync('redis-cli', ['-p', String(port), ...words], { encoding: 'utf8' })

  it.each(['json', 'villas.binary', 'csv'])(
    'carries %s in a channel, by a UNIX socket and as another user',
    async (format) => {
      const right = await start({ mode: 'channel', channel: format, format }, reads)
      const socket = { host: null, port: null, uri: `unix://guest:secret@${server.folder}/redis.sock` }
      const left = await start({ mode: 'pub-sub', channel: format, format, ...socket }, writes)
      left.write(1, 2)
      left.write(3)
      expect(await right.read(3)).toEqual(samplesOf(1, 2, 3))
    },
  )

  it('exchanges a key with redis-cli, and is told when it changes', async () => {
    const node = await start({ key: 'k' }, { in: true, out: true })
    expect(cli('SET', 'k', '{"sequence": 5, "data": [1.5]}')).toBe('OK\n')
    expect(await node.read(1)).toMatchObject([{ sequence: 5, values: [1.5] }])
    node.write(6)
    expect(await node.read(1)).toEqual(samplesOf(6))
    expect(cli('GET', 'k')).toBe(
      '[{"ts": {"origin": [1600000006, 0]}, "sequence": 6, "data": [6.0, 12.0, 18.0, 24.0]}]\n',
    )
    cli('SET', 'k', 'nonsense')
    await until(() => node.counters.malformed === 1)
  })

  it('polls a key of another database at a rate', async () => {
    cli('-n', '3', 'SET', 'polled', '{"data": [4.5]}')
    const node = await start(
      { uri: `tcp://127.0.0.1:${port}/3`, host: null, port: null, key: 'polled', notify: false, rate: 100 },
      reads,
    )
    expect((await node.read(2)).map(({ values }) => values)).toEqual([[4.5], [4.5]])
  })

  it('has the signals of a sample in the fields of a hash', async () => {
    const node = await start({ mode: 'hash', key: 'h' }, { in: true, out: true }, '2f2i')
    node.write(3)
    expect((await node.read(1))[0]).toMatchObject({ values: [3, 6, 9, 12], received: true })
    expect(cli('HGETALL', 'h')).toBe('signal0\n3\nsignal1\n6\nsignal2\n9\nsignal3\n12\n')
    cli('HSET', 'h', 'signal0', '-2.5e-3', 'signal2', '-7', 'other', 'x')
    expect((await node.read(1))[0]).toMatchObject({ values: [-0.0025, 6, -7, 12] })
    cli('HSET', 'h', 'signal1', 'x')
    expect((await node.read(1))[0]).toMatchObject({ values: [-0.0025, 0, -7, 12] })
    expect(node.counters).toMatchObject({ malformed: 1 })
  })

  it('says what the server says to a wrong password', async () => {
    const settings = { type: 'redis', host: '127.0.0.1', port, user: 'guest', password: 'wrong' }
    const node = await TestNode.start(settings)
    await until(() => node.logs.length > 0)
    expect(node.logs[0]).toMatch(/WRONGPASS/)
    await node.stop()
  })

  it('goes on when the server was killed and started again; what was lost is counted', async () => {
    const right = await start({ mode: 'channel', channel: 'again' }, reads)
    const left = await start({ mode: 'channel', channel: 'again' }, writes)
    left.write(1)
    expect(await right.read(1)).toEqual(samplesOf(1))
    await server.kill()
    await until(() => left.node.state !== 'connected' && right.node.state !== 'connected')
    expect(left.write(2, 3)).toBe(0)
    await server.start()
    await until(() => left.node.state === 'connected' && right.node.state === 'connected')
    left.write(4)
    expect(await right.read(1)).toEqual(samplesOf(4))
    expect(left.counters).toEqual({ sent: 2, connections: 2, disconnects: 1, not_connected: 2 })
  })
})
