/** The node-type influxdb against influxd, which is asked what it has. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freeTcpPort, freeUdpPort } from '../../gateway/nodes/ports.ts'
import { TestNode } from '../../gateway/nodes/running.ts'
import { Daemon, hasCommand } from './daemon.ts'

describe.skipIf(!hasCommand('influxd', 'influxdb'))('influxdb and influxd', () => {
  let server: Daemon
  let url: string
  let udpPort: number

  beforeAll(async () => {
    const [http, rpc] = [await freeTcpPort(), await freeTcpPort()]
    udpPort = await freeUdpPort()
    url = `http://127.0.0.1:${http}/query`
    server = new Daemon('influxd', http)
    const { folder } = server
    const config = `
reporting-disabled = true
bind-address = "127.0.0.1:${rpc}"
[meta]
  dir = "${folder}/meta"
[data]
  dir = "${folder}/data"
  wal-dir = "${folder}/wal"
[http]
  bind-address = "127.0.0.1:${http}"
  log-enabled = false
[[udp]]
  enabled = true
  bind-address = "127.0.0.1:${udpPort}"
  database = "lab"
  batch-size = 1
`
    await server.start(['-config', server.write('influxdb.conf', config)])
  })
  afterAll(() => server.stop())

  async function query(text: string): Promise<(string | number)[][]> {
    const response = await fetch(`${url}?db=lab&epoch=ns&q=${encodeURIComponent(text)}`)
    const { results } = (await response.json()) as { results: { series?: { values: (string | number)[][] }[] }[] }
    return results[0]?.series?.[0]?.values ?? []
  }

  it('has the points that were written, with their times, tags and fields', async () => {
    const node = await TestNode.start(
      { type: 'influxdb', server: `127.0.0.1:${udpPort}`, key: 'villas,place=lab' },
      '3fi',
    )
    expect(node.write(1, 2, 3)).toBe(3)
    await expect.poll(() => query('select * from villas'), { timeout: 30_000 }).toHaveLength(3)
    expect(await query('select place, signal0, signal1, signal2 from villas')).toEqual(
      [1, 2, 3].map((n) => [(1_600_000_000 + n) * 1e9, 'lab', n, 2 * n, 3 * n]),
    )
    expect(await query('select signal3 from villas')).toEqual([1, 2, 3].map((n) => [(1_600_000_000 + n) * 1e9, 4 * n]))
    await node.stop()
  })
})
