/** Programs of the RDMA CM whose peer is another program, refuses, dies, or is not there. */
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { outcome, verbena } from '../../cli/run.ts'
import { loopbackDevice } from '../../loopback.ts'
import { killLeftovers, patience, places, says, start } from './ends.ts'
import { StrangePeer } from './peer.ts'

const info = (addr: bigint, rkey: number, size: number): Uint8Array => {
  const bytes = Buffer.alloc(16)
  bytes.writeBigUInt64BE(addr)
  bytes.writeUInt32BE(rkey, 8)
  bytes.writeUInt32BE(size, 12)
  return bytes
}

afterEach(killLeftovers)

describe.each(places)('bad peers on $name', { timeout: 120_000 }, (place) => {
  const { address } = place
  const rpingServer = (device: string, ...more: string[]) =>
    start(['rping', '-s', '-a', address, '--device', device, ...more])

  it.each([
    ['messages of a wrong size', Buffer.from('hello'), /Received bogus data, size 5: .*another program/],
    ['a larger buffer', info(4096n, 1, 1000), /the client has a buffer of 1000 bytes, and this server one of 64: .*-S/],
    ['an address beyond all memory', info(0xffff_ffff_ffff_fff0n, 1, 64), /an address that no memory has/],
    ['a key that opens nothing', info(4096n, 0x12345, 64), /failed status 10 \(remote access error/],
  ])('rping -s ends with a sentence: %s', async (_, message, sentence) => {
    const devices = place.devices()
    const served = outcome(rpingServer(devices.server))
    // What private data holds means nothing to rping.
    const privateData = new Uint8Array(56).fill(0xa5)
    const peer = await StrangePeer.connected(devices.client, address, 7174, { privateData })
    peer.send(message)
    const { code, stderr } = await served
    expect(stderr).toMatch(sentence)
    expect(code).toBe(1)
    peer.close()
  })

  it('rping -s -P outlives a bad client', async () => {
    const devices = place.devices()
    const server = rpingServer(devices.server, '-P')
    const served = outcome(server)
    const peer = await StrangePeer.connected(devices.client, address, 7174)
    peer.send(Buffer.from('hello'))
    await says(server, /rping: Received bogus data/)
    peer.close()
    const device = place.name === 'shm' ? devices.client : loopbackDevice(3)
    const client = await outcome(start(['rping', '-c', '-a', address, '-C', '3', '--device', device, ...patience]))
    expect(client.code).toBe(0)
    server.kill('SIGINT')
    expect((await served).code).toBe(130)
  })

  it('rping: the other end is killed', async () => {
    const devices = place.devices()
    const server = rpingServer(devices.server, '-v', '--timeout', '8')
    const served = outcome(server)
    const client = start(['rping', '-c', '-a', address, '--device', devices.client, ...patience, '--timeout', '8'])
    const asked = outcome(client)
    await says(server, /rdma-ping-3/)
    server.kill('SIGKILL')
    await served
    const { code, stderr } = await asked
    expect(stderr).toMatch(/status 12 \(.*retry counter exceeded|ended the connection|nothing came/)
    expect(code).toBe(1)
  })

  it('a closed port is refused', async () => {
    const devices = place.devices()
    const server = rpingServer(devices.server, '-p', '7199', '-d')
    const served = outcome(server)
    await says(server, /listening on/)
    const client = ['ucmatose', '-s', address, '-p', '7198', '--device', devices.client]
    const shown = await outcome(start(client))
    expect(shown.stdout).toBe(
      'cmatose: starting client\ncmatose: connecting\ncmatose: event: RDMA_CM_EVENT_REJECTED, error: 8\ntest complete\nreturn status 8\n',
    )
    expect(shown.stderr).toMatch(/nobody listens on 127\.\d+\.\d+\.\d+ port 7198: start the server there first/)
    expect(shown.code).toBe(1)
    const { stdout, code } = await outcome(start([...client, '--json']))
    expect(JSON.parse(stdout)).toMatchObject({
      failure: { code: 'REJECTED', event: 'RDMA_CM_EVENT_REJECTED', status: 8 },
      connections: [],
    })
    expect(code).toBe(1)
    server.kill('SIGINT')
    expect((await served).code).toBe(130)
  })

  it('ucmatose -b: a client that says nothing, and another that comes too late', async () => {
    const devices = place.devices()
    const server = start(['ucmatose', '-b', address, '--device', devices.server, '--timeout', '6'])
    const served = outcome(server)
    const peer = await StrangePeer.connected(devices.client, address, 7471)
    await says(server, /receiving data transfers/)
    const device = place.name === 'shm' ? devices.client : loopbackDevice(3)
    const late = await outcome(start(['ucmatose', '-s', address, '--device', device]))
    expect(late.stdout).toMatch(/event: RDMA_CM_EVENT_REJECTED, error: 28/)
    expect(late.stderr).toMatch(/refused the connection: it has as many as it wants/)
    expect(late.code).toBe(1)
    const { code, stderr } = await served
    expect(stderr).toMatch(/waited 6 s for messages of a connection, and nothing came \(--timeout\); 0 of 10 messages/)
    expect(code).toBe(1)
    peer.close()
  })

  it('udaddy: sizes that differ', async () => {
    const devices = place.devices()
    const server = start(['udaddy', '-S', '50', '--device', devices.server, '--timeout', '5'])
    const served = outcome(server)
    const args = ['udaddy', '-S', '500', '-s', address, '--device', devices.client, '--timeout', '5', ...patience]
    const client = await outcome(start(args))
    const { code, stderr } = await served
    expect(stderr).toMatch(/-S the same at both ends/)
    expect(client.stderr).toMatch(/0 of 10 messages came: nobody repeats a datagram that is lost/)
    expect([code, client.code]).toEqual([1, 1])
  })

  it('Ctrl-C while nobody comes', async () => {
    const server = rpingServer(place.devices().server, '-d')
    const served = outcome(server)
    await says(server, /listening/)
    server.kill('SIGINT')
    const { code, stderr } = await served
    expect(stderr).toBe('\nStopping. Once more ends at once.\n')
    expect(code).toBe(130)
  })
})

describe('what cannot be', { timeout: 60_000 }, () => {
  it('somebody else listens there', async () => {
    const [place] = places
    const { server, client } = place!.devices()
    const args = ['ucmatose', '-b', place!.address, '--device']
    const first = start(['rping', '-s', '-d', '-p', '7471', '-a', place!.address, '--device', server])
    const ended = once(first, 'close')
    await says(first, /listening/)
    const { code, stderr } = await verbena(...args, client)
    expect(stderr).toMatch(/7471.*EADDRINUSE/)
    expect(code).toBe(1)
    first.kill('SIGKILL')
    await ended
  })

  it.each([
    [['rping', '-c'], /-a: the client needs the server's address/],
    [['rping'], /-s or -c: say which end this is/],
    [['rping', '-s', '-S', '25'], /-S: '25' is not valid. Expected a whole number from 26 to 65535/],
    [['rping', '-s', '-I', '127.0.0.1'], /-I: is for the client/],
    [['rping', '-s', '--device', 'shm0'], /--device: shm0 lives within one process/],
    [['rping', '-s', '--device', 'mlx5_9'], /mlx5_9/],
    [['ucmatose', '-P', 'udp'], /-P: 'udp' is not valid. Expected tcp or ib/],
    [['ucmatose', '-f', 'ax25'], /-f: 'ax25' is not valid/],
    [['ucmatose', '-t', '256'], /-t: '256'/],
    [['udaddy', '-p', '7174'], /-p: '7174' is not valid.*no port number/],
    [['mckey'], /-m: which group/],
    [['mckey', '-m', '239.1.2.3', '-l'], /-l: members on the same adapter/],
    [['mckey', '-M', 'ff0e::1:3'], /-M: a GID needs an address/],
    [['cmtime', '-c', '0'], /-c: '0'/],
  ])('verbena %j exits with 2 and says why', async (args, message) => {
    const { code, stderr } = await verbena(...args)
    expect(stderr).toMatch(message)
    expect(code).toBe(2)
  })

  it('an address that is no multicast address, and a name that nobody knows', async () => {
    const [place] = places
    const { server } = place!.devices()
    const group = await verbena('mckey', '-m', place!.address, '--device', server, '--settle', '0')
    expect(group.stderr).toMatch(/is no multicast address/)
    const name = await verbena('ucmatose', '-s', 'nobody.invalid', '--device', server)
    expect(name.stderr).toMatch(/'nobody\.invalid' is no IP address, and no name/)
    expect([group.code, name.code]).toEqual([1, 1])
  })

  it.each(['rping', 'ucmatose', 'udaddy', 'mckey', 'cmtime'])('verbena %s --help teaches', async (name) => {
    const { code, stdout } = await verbena(name, '--help')
    expect(stdout).toMatch(new RegExp(`Examples:\n  verbena ${name} `))
    expect(stdout).toContain('--device <dev>')
    expect(code).toBe(0)
  })
})
