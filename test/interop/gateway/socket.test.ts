/** The node-type socket against socat: what it sends is what socat prints, and what socat sends is read. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import type { Settings } from '../../../src/gateway/index.ts'
import { nativeAvailable } from '../../../src/index.ts'
import { freeTcpPort, freeUdpPort } from '../../gateway/nodes/ports.ts'
import { samplesOf, TestNode, until } from '../../gateway/nodes/running.ts'
import { hasCommand } from './daemon.ts'
import { Peer } from './peer.ts'

const line =
  '1600000001.000000000(1)\t1.00000000000000000\t2.00000000000000000\t3.00000000000000000\t4.00000000000000000'

describe.skipIf(!hasCommand('socat', 'socat'))('socket and socat', () => {
  const folder = mkdtempSync(join(tmpdir(), 'verbena-socat-'))
  const nodes: TestNode[] = []
  const peers: Peer[] = []
  afterEach(async () => {
    for (const node of nodes.splice(0)) await node.stop()
    for (const peer of peers.splice(0)) await peer.kill()
  })

  afterAll(() => rmSync(folder, { recursive: true }))

  async function start(settings: Settings): Promise<TestNode> {
    const node = await TestNode.start({ type: 'socket', format: 'villas.human', ...settings })
    nodes.push(node)
    return node
  }

  function socat(...parameters: string[]): Peer {
    const started = new Peer('socat', ...parameters)
    peers.push(started)
    return started
  }

  /** `repeats`: nobody says when a datagram can be received. */
  async function both(node: TestNode, peer: Peer, repeats: boolean): Promise<void> {
    node.write(1)
    await until(() => {
      if (repeats) node.write(1)
      return peer.lines.includes(line)
    })
    peer.write(`${line}\n`)
    expect(await node.read(1)).toEqual(samplesOf(1))
    peer.write('nonsense\n')
    await until(() => node.take().length === 0 && node.counters.malformed === 1)
  }

  it('UDP', async () => {
    const [here, there] = [await freeUdpPort(), await freeUdpPort()]
    const node = await start({ in: { address: `127.0.0.1:${here}` }, out: { address: `127.0.0.1:${there}` } })
    await both(node, socat('-', `UDP4:127.0.0.1:${here},bind=127.0.0.1:${there}`), true)
  })

  it('UDP to a multicast group', async () => {
    const port = await freeUdpPort()
    const group = '239.255.71.9'
    const multicast = { enabled: true, group, interface: '127.0.0.1', loop: true }
    const node = await start({ in: { address: `0.0.0.0:${port}`, multicast }, out: { address: `${group}:${port}` } })
    const peer = socat('-u', '-', `UDP4-DATAGRAM:${group}:${port},ip-multicast-if=127.0.0.1`)
    peer.write(`${line}\n`)
    expect(await node.read(1)).toEqual(samplesOf(1))
  })

  it('a TCP server', async () => {
    const port = await freeTcpPort()
    const node = await start({ layer: 'tcp-server', in: { address: `127.0.0.1:${port}` } })
    const peer = socat('-', `TCP4:127.0.0.1:${port}`)
    await until(() => node.node.state === 'connected')
    await both(node, peer, false)
  })

  it('a TCP client, whose server comes late', async () => {
    const port = await freeTcpPort()
    const node = await start({ layer: 'tcp-client', out: { address: `127.0.0.1:${port}` } })
    expect(node.write(1)).toBe(0)
    const peer = socat('-', `TCP4-LISTEN:${port},bind=127.0.0.1,reuseaddr`)
    await until(() => node.node.state === 'connected')
    await both(node, peer, false)
  })

  it.skipIf(!nativeAvailable)('UNIX datagrams', async () => {
    const [here, there] = [join(folder, 'here'), join(folder, 'there')]
    const node = await start({ layer: 'unix', in: { address: here }, out: { address: there } })
    const peer = socat('-', `UNIX-SENDTO:${here},bind=${there}`)
    await until(() => existsSync(there))
    await both(node, peer, true)
  })
})
