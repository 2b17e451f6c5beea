/** The node-type mqtt against mosquitto and its command-line clients. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Settings } from '../../../src/gateway/index.ts'
import { freeTcpPort } from '../../gateway/nodes/ports.ts'
import { samplesOf, TestNode, until } from '../../gateway/nodes/running.ts'
import { Daemon, hasCommand } from './daemon.ts'

const present =
  hasCommand('mosquitto', 'mosquitto') &&
  hasCommand('mosquitto_pub', 'mosquitto-clients') &&
  hasCommand('openssl', 'openssl')

describe.skipIf(!present)('mqtt and mosquitto', () => {
  let broker: Daemon
  let port: number
  let tlsPort: number
  const nodes: TestNode[] = []

  beforeAll(async () => {
    port = await freeTcpPort()
    tlsPort = await freeTcpPort()
    broker = new Daemon('mosquitto', port)
    const { folder } = broker
    const request = [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=localhost',
      '-addext',
      'subjectAltName=DNS:localhost',
    ]
    execFileSync('openssl', [...request, '-keyout', `${folder}/key.pem`, '-out', `${folder}/cert.pem`], {
      stdio: 'ignore',
    })
    execFileSync('mosquitto_passwd', ['-c', '-b', `${folder}/passwords`, 'guest', 'secret'])
    const configuration = `user root
per_listener_settings true
listener ${port} 127.0.0.1
allow_anonymous true
listener ${tlsPort} 127.0.0.1
certfile ${folder}/cert.pem
keyfile ${folder}/key.pem
allow_anonymous false
password_file ${folder}/passwords
`
    await broker.start(['-c', broker.write('mosquitto.conf', configuration)])
  })

  afterAll(async () => {
    for (const node of nodes) await node.stop()
    await broker.stop()
  })

  async function start(settings: Settings): Promise<TestNode> {
    const node = await TestNode.start({ type: 'mqtt', host: 'localhost', port, ...settings })
    nodes.push(node)
    await until(() => node.node.state === 'connected')
    return node
  }

  const client = (name: string, ...parameters: string[]): string[] => [
    name,
    '-h',
    '127.0.0.1',
    '-p',
    String(port),
    ...parameters,
  ]

  it.each([0, 1, 2])('carries samples between its own ends with QoS %i', async (qos) => {
    const right = await start({ in: { subscribe: `own/${qos}/+` }, qos, format: 'villas.binary' })
    const left = await start({ out: { publish: `own/${qos}/a` }, qos, format: 'villas.binary' })
    left.write(1, 2, 3)
    left.write(4)
    expect(await right.read(4)).toEqual(samplesOf(1, 2, 3, 4))
  })

  it('publishes what mosquitto_sub prints, retained if it is to be', async () => {
    const node = await start({ out: { publish: 'to/them' }, retain: true, qos: 1 })
    node.write(7)
    const [command, ...parameters] = client('mosquitto_sub', '-t', 'to/them', '-C', '1', '-W', '10', '-F', '%r %p')
    const printed = spawn(command!, parameters)
    let text = ''
    printed.stdout.on('data', (part) => (text += part))
    await once(printed, 'close')
    expect(text).toBe('1 [{"ts": {"origin": [1600000007, 0]}, "sequence": 7, "data": [7.0, 14.0, 21.0, 28.0]}]\n')
  })

  it('reads what mosquitto_pub publishes, and counts what is malformed', async () => {
    const node = await start({ in: { subscribe: 'from/#' }, qos: 1 })
    const [command, ...parameters] = client('mosquitto_pub', '-q', '1', '-t', 'from/them')
    spawnSync(command!, [...parameters, '-m', '{"data": [1.5]}'])
    expect(await node.read(1)).toMatchObject([{ values: [1.5] }])
    spawnSync(command!, [...parameters, '-m', '{"data": 1}'])
    spawnSync(command!, [...parameters, '-m', '{"sequence": 9, "data": [2.5]}'])
    expect(await node.read(1)).toMatchObject([{ sequence: 9, values: [2.5] }])
    expect(node.counters).toMatchObject({ malformed: 1 })
  })

  it('connects by TLS with a name and a password, and not without', async () => {
    const ssl = { cafile: `${broker.folder}/cert.pem`, verify: true }
    const settings = { port: tlsPort, ssl, username: 'guest', in: { subscribe: 'tls' }, out: { publish: 'tls' } }
    const node = await start({ ...settings, password: 'secret' })
    node.write(1)
    expect(await node.read(1)).toEqual(samplesOf(1))
    const refused = async (wrong: Settings, reason: RegExp): Promise<void> => {
      const other = await TestNode.start({ type: 'mqtt', host: 'localhost', ...settings, ...wrong })
      await until(() => other.logs.length > 0)
      expect(other.logs[0]).toMatch(reason)
      await other.stop()
    }
    await refused({ password: 'wrong' }, /Not authorized/i)
    await refused({ password: 'secret', ssl: { verify: true } }, /self.signed certificate/i)
  })

  it('goes on when the broker was killed and started again; what was lost is counted', async () => {
    const right = await start({ in: { subscribe: 'again' } })
    const left = await start({ out: { publish: 'again' } })
    left.write(1)
    expect(await right.read(1)).toEqual(samplesOf(1))
    await broker.kill()
    await until(() => left.node.state !== 'connected' && right.node.state !== 'connected')
    expect(left.write(2, 3)).toBe(0)
    await broker.start()
    await until(() => left.node.state === 'connected' && right.node.state === 'connected')
    left.write(4)
    expect(await right.read(1)).toEqual(samplesOf(4))
    expect(left.counters).toEqual({ sent: 2, connections: 2, disconnects: 1, not_connected: 2 })
  })
})
