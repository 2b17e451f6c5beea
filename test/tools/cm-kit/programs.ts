/** rping, ucmatose, udaddy, mckey and cmtime between two processes, each against itself, on one kind of device. */
import { afterEach, expect, it } from 'vitest'
import type { MessageResult } from '../../../src/tools/cm-kit/run.ts'
import type { CmtimeResult } from '../../../src/tools/cmtime/run.ts'
import type { RpingResult } from '../../../src/tools/rping/run.ts'
import { outcome } from '../../cli/run.ts'
import { killLeftovers, type Place, patience, runEnds, says, start } from './ends.ts'

const lines = (...all: string[]): string => `${all.join('\n')}\n`
const ping = (i: number): string =>
  [
    'rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqr',
    'rdma-ping-1: BCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrs',
  ][i]!

export function programs(place: Place): void {
  const { address } = place
  afterEach(killLeftovers)

  it('rping prints what rping of librdmacm prints', async () => {
    const { server, client } = await runEnds(
      place,
      ['rping', '-s', '-a', address, '-v'],
      ['rping', '-c', '-a', address, '-v', '-V', '-C', '2'],
    )
    expect(client.stdout).toBe(lines(`ping data: ${ping(0)}`, `ping data: ${ping(1)}`))
    expect(client.stderr).toBe(lines('client DISCONNECT EVENT...'))
    expect(client.code).toBe(0)
    expect(server.stdout).toBe(lines(`server ping data: ${ping(0)}`, `server ping data: ${ping(1)}`))
    expect(server.stderr).toBe(lines('server DISCONNECT EVENT...', 'wait for RDMA_READ_ADV state 10'))
    expect(server.code).toBe(0)
  })

  it('rping with a queue pair of its own, the largest buffer, and JSON', async () => {
    const common = ['-a', address, '-S', '65535', '-q', '--json']
    const { server, client } = await runEnds(
      place,
      ['rping', '-s', ...common],
      ['rping', '-c', ...common, '-C', '5', '-V'],
    )
    const results = [client, server].map(({ stdout }) => JSON.parse(stdout) as RpingResult)
    for (const [i, result] of results.entries()) {
      expect(result).toMatchObject({ tool: 'rping', role: ['client', 'server'][i], size: 65535 })
      expect(result.connections).toMatchObject([{ pings: 5 }])
      expect(result.failure).toBeUndefined()
      expect(result.counters).toMatchObject({ remote_access_errors: 0 })
      // Shared memory has no packets to count.
      if (place.name === 'roce') expect(result.counters.rdma_sends).toBeGreaterThan(10)
    }
    expect(results[0]!.connections[0]!.peer).toBe(`${address}:7174`)
    expect([server.stderr, client.stderr, server.code, client.code]).toEqual(['', '', 0, 0])
  })

  it('rping -s -P serves one client after the other, and several at once, until Ctrl-C', async () => {
    const devices = place.devices()
    const server = start(['rping', '-s', '-P', '-a', address, '--device', devices.server, '--json'])
    const served = outcome(server)
    const client = ['rping', '-c', '-a', address, '-C', '20', '--device', devices.client, ...patience, '--json']
    const first = await outcome(start(client))
    // A device on the network belongs to one process at a time.
    const more = place.name === 'shm' ? [start(client), start(client)] : [start(client)]
    for (const { code, stderr } of [first, ...(await Promise.all(more.map(outcome)))]) {
      expect(stderr).toBe('')
      expect(code).toBe(0)
    }
    server.kill('SIGINT')
    const { code, stdout } = await served
    expect((JSON.parse(stdout) as RpingResult).connections.map(({ pings }) => pings)).toEqual(
      Array.from({ length: more.length + 1 }, () => 20),
    )
    expect(code).toBe(130)
  })

  it('ucmatose prints what ucmatose of librdmacm prints', async () => {
    const common = ['ucmatose', '-c', '3', '-C', '5', '-S', '300', '-m']
    const { server, client } = await runEnds(place, [...common, '-b', address], [...common, '-s', address])
    expect(server.stdout).toBe(
      lines(
        'cmatose: starting server',
        'initiating data transfers',
        'completing sends',
        'receiving data transfers',
        'data transfers complete',
        'migrating to new event channel',
        'cmatose: disconnecting',
        'disconnected',
        'test complete',
        'return status 0',
      ),
    )
    expect(client.stdout).toBe(
      lines(
        'cmatose: starting client',
        'cmatose: connecting',
        'receiving data transfers',
        'sending replies',
        'data transfers complete',
        'migrating to new event channel',
        'test complete',
        'return status 0',
      ),
    )
    expect([server.stderr, client.stderr, server.code, client.code]).toEqual(['', '', 0, 0])
  })

  it('ucmatose in the port space IB, with options of the ids, as JSON', async () => {
    const common = ['ucmatose', '-P', 'ib', '-a', '14', '--json', '-p', '7500']
    const { server, client } = await runEnds(place, common, [...common, '-s', address, '-t', '32'])
    for (const { stdout, code } of [server, client]) {
      const result = JSON.parse(stdout) as MessageResult
      expect(result).toMatchObject({ tool: 'ucmatose', messageCount: 10, messageSize: 100 })
      expect(result.connections).toMatchObject([{ sent: 10, received: 10 }])
      expect(code).toBe(0)
    }
  })

  it('ucmatose without messages', async () => {
    const common = ['ucmatose', '-C', '0', '--json']
    const { server, client } = await runEnds(place, common, [...common, '-s', address])
    for (const { stdout, code } of [server, client]) {
      expect((JSON.parse(stdout) as MessageResult).connections).toMatchObject([{ sent: 0, received: 0 }])
      expect(code).toBe(0)
    }
  })

  it('udaddy prints what udaddy of librdmacm prints', async () => {
    const common = ['udaddy', '-c', '2', '-C', '4']
    const { server, client } = await runEnds(place, [...common, '-b', address], [...common, '-s', address])
    expect(server.stdout).toBe(
      lines(
        'udaddy: starting server',
        'receiving data transfers',
        'sending replies',
        'data transfers complete',
        'test complete',
        'return status 0',
      ),
    )
    expect(client.stdout).toBe(
      lines(
        'udaddy: starting client',
        'udaddy: connecting',
        'initiating data transfers',
        'receiving data transfers',
        'data transfers complete',
        'test complete',
        'return status 0',
      ),
    )
    expect([server.stderr, client.stderr, server.code, client.code]).toEqual(['', '', 0, 0])
  })

  it.each(['udp', 'ipoib'])('udaddy in the port space %s, as JSON', async (space) => {
    const common = ['udaddy', '-P', space, '-S', '1024', '--json']
    const { server, client } = await runEnds(place, common, [...common, '-s', address])
    for (const { stdout, code } of [server, client]) {
      expect((JSON.parse(stdout) as MessageResult).connections).toMatchObject([{ sent: 10, received: 10 }])
      expect(code).toBe(0)
    }
  })

  it('mckey: what one sends to a group, all its members get', async () => {
    const devices = place.devices()
    const bind = place.name === 'shm' ? [] : ['-b', address]
    const common = ['mckey', '-m', '239.7.8.9', '-C', '6', '--settle', '0']
    const receiver = start([...common, '-c', '2', ...bind, '--device', devices.server])
    const received = outcome(receiver)
    await says(receiver, /receiving data/)
    const sender = await outcome(start([...common, '-s', '-o', '--device', devices.client]))
    const joined = 'mckey: joined dgid: ::ffff:239.7.8.9 mlid 0xc000 sl 0'
    expect(sender.stdout).toBe(
      lines(
        ...['mckey: starting client', 'mckey: joining', joined, 'initiating data transfers', 'data transfers complete'],
        ...['test complete', 'return status 0'],
      ),
    )
    const { stdout, stderr, code } = await received
    expect(stdout).toBe(
      lines(
        ...['mckey: starting server', 'mckey: joining', joined, joined, 'receiving data transfers'],
        ...['data transfers complete', 'test complete', 'return status 0'],
      ),
    )
    expect([stderr, code, sender.stderr, sender.code]).toEqual(['', 0, '', 0])
  })

  it('cmtime shows all steps of a hundred connections', async () => {
    const devices = place.devices()
    const server = start(['cmtime', '-b', address, '--device', devices.server, '--json'])
    const served = outcome(server)
    const client = ['cmtime', '-s', address, '--device', devices.client, ...patience]
    const shown = await outcome(start([...client, '-c', '100']))
    expect(shown.stdout).toMatch(
      /^creating id\nresolving address\nresolving route\ncreating qp\nconnecting\ndisconnecting\ndestroying id\nstep {14}total ms {5}max ms {5}min us {2}us \/ conn\ncreate id {4}: +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+\nresolve addr /,
    )
    expect([shown.stderr, shown.code]).toEqual(['', 0])
    const { stdout, code } = await outcome(start([...client, '-c', '20', '--json']))
    const { steps, errors, connections } = JSON.parse(stdout) as CmtimeResult
    expect([errors, connections, code]).toEqual([0, 20, 0])
    expect(steps.map(({ step }) => step)).toEqual([
      ...['create id', 'resolve addr', 'resolve route', 'create qp', 'connect', 'disconnect', 'destroy'],
    ])
    for (const { totalUs, usPerConnection, minUs, maxUs } of steps) {
      expect(usPerConnection).toBeCloseTo(totalUs / 20, 6)
      expect(minUs).toBeLessThanOrEqual(maxUs)
    }
    server.kill('SIGINT')
    const theirs = await served
    // One more for each client that waited for the server.
    expect(JSON.parse(theirs.stdout)).toMatchObject({ role: 'server', served: 122, errors: 0 })
    expect(theirs.code).toBe(130)
  })
}
