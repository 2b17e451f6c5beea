/** udpong between two processes, on one kind of device or over UDP of the kernel. */
import { afterEach, expect, it } from 'vitest'
import type { UdpongResult } from '../../../src/tools/udpong/run.ts'
import { freePort } from '../../cli/ends.ts'
import { outcome } from '../../cli/run.ts'
import { loopbackAddress } from '../../loopback.ts'
import { killLeftovers, type Place, start } from '../cm-kit/ends.ts'

const heading = 'name      bytes   xfers   total       time     Gb/sec    usec/xfer\n'

export function twoProcesses(place: Place): void {
  afterEach(killLeftovers)

  it('udpong prints what that of librdmacm prints, and the server goes on', async () => {
    const devices = place.devices()
    const own = (n: number): string[] => (place.name === 'shm' ? [] : ['-b', loopbackAddress(n)])
    const server = start(['udpong', '--device', devices.server, ...own(1), '--json'])
    const served = outcome(server)
    const client = ['udpong', '--device', devices.client, ...own(2), '-s', place.address]
    const echoes = await outcome(start([...client, '-S', '512', '-C', '50', '-T', 'e']))
    expect(echoes.stderr).toBe('')
    expect(echoes.stdout).toMatch(
      new RegExp(`^${heading}custom {4}512 {5}100 {5}50k {6} *\\d+\\.\\d\\ds +\\d+\\.\\d\\d +\\d+\\.\\d\\d\n$`),
    )
    expect(echoes.code).toBe(0)
    const oneWay = await outcome(start([...client, '-C', '300', '-T', 'a', '--json']))
    const [row] = (JSON.parse(oneWay.stdout) as UdpongResult).rows
    expect(row).toMatchObject({ name: 'custom', size: 1000, sent: 300 })
    // Datagrams may get lost, but the server is heard.
    expect(row!.transfers).toBeGreaterThan(0)
    expect(row!.transfers).toBeLessThanOrEqual(300)
    expect(row!.bytes).toBe(row!.transfers * 1000)
    expect(oneWay.code).toBe(0)
    server.kill('SIGINT')
    const { code, stdout } = await served
    expect(JSON.parse(stdout)).toMatchObject({ tool: 'udpong', role: 'server', socket: 'rsocket' })
    expect((JSON.parse(stdout) as UdpongResult).logins).toBeGreaterThanOrEqual(2)
    expect(code).toBe(130)
  })

  it('nobody answers', async () => {
    const devices = place.devices()
    const own = place.name === 'shm' ? [] : ['-b', loopbackAddress(2)]
    const client = ['udpong', '--device', devices.client, ...own, '-s', place.address, '--timeout', '1']
    const { code, stderr } = await outcome(start(client))
    expect(stderr).toMatch(/waited 1 s for an answer, and nothing came: is a server running there\?/)
    expect(code).toBe(1)
  })
}

/** Over UDP of the kernel, with the further options `how`. */
export function overKernel(how: readonly string[]): void {
  afterEach(killLeftovers)

  it(`udpong -T s ${how.join(' ')}`, async () => {
    const port = await freePort()
    const server = start(['udpong', '-T', 's', ...how, '-p', port, '-b', '127.0.0.1'])
    const served = outcome(server)
    const { code, stdout } = await outcome(
      start(['udpong', '-T', 's', ...how, '-p', port, '-s', 'localhost', '-C', '40', '-T', 'echo', '--json']),
    )
    expect(JSON.parse(stdout)).toMatchObject({ socket: 'udp', rows: [{ sent: 80, transfers: 80, bytes: 80_000 }] })
    expect(code).toBe(0)
    server.kill('SIGINT')
    expect((await served).stdout).toMatch(/^(client login from 127\.0\.0\.1\n)+$/)
  })
}
