/** Programs of the RDMA CM whose peer is another program, refuses, dies, or is not there. */
import { afterEach, expect, it } from 'vitest'
import { outcome, type Program } from '../../cli/run.ts'
import { loopbackDevice } from '../../loopback.ts'
import { killLeftovers, type Place, patience, says, start } from './ends.ts'
import { StrangePeer } from './peer.ts'

const info = (addr: bigint, rkey: number, size: number): Uint8Array => {
  const bytes = Buffer.alloc(16)
  bytes.writeBigUInt64BE(addr)
  bytes.writeUInt32BE(rkey, 8)
  bytes.writeUInt32BE(size, 12)
  return bytes
}

function startServer(address: string, device: string, more: readonly string[]): Program {
  return start(['rping', '-s', '-a', address, '--device', device, ...more])
}

/** The tests of bad peers on one kind of device. */
export function badPeers(place: Place): void {
  const { address } = place
  afterEach(killLeftovers)
  const rpingServer = (device: string, ...more: string[]) => startServer(address, device, more)

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
    const { code, stderr } = await peer.until(served)
    expect(stderr).toMatch(sentence)
    expect(code).toBe(1)
    peer.close()
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

  it('Ctrl-C while nobody comes', async () => {
    const server = rpingServer(place.devices().server, '-d')
    const served = outcome(server)
    await says(server, /listening/)
    server.kill('SIGINT')
    const { code, stderr } = await served
    expect(stderr).toBe('\nStopping. Once more ends at once.\n')
    expect(code).toBe(130)
  })
}

/** Those that wait for time-outs of seconds. */
export function slowPeers(place: Place): void {
  const { address } = place
  afterEach(killLeftovers)

  it('rping -s -P outlives a bad client', async () => {
    const devices = place.devices()
    const server = startServer(address, devices.server, ['-P'])
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

  it('ucmatose -b: a client that says nothing, and another that comes too late', async () => {
    const devices = place.devices()
    const server = start(['ucmatose', '-b', address, '--device', devices.server, '--timeout', '3'])
    const served = outcome(server)
    const peer = await StrangePeer.connected(devices.client, address, 7471)
    await says(server, /receiving data transfers/)
    const device = place.name === 'shm' ? devices.client : loopbackDevice(3)
    const late = await outcome(start(['ucmatose', '-s', address, '--device', device]))
    expect(late.stdout).toMatch(/event: RDMA_CM_EVENT_REJECTED, error: 28/)
    expect(late.stderr).toMatch(/refused the connection: it has as many as it wants/)
    expect(late.code).toBe(1)
    const { code, stderr } = await served
    expect(stderr).toMatch(/waited 3 s for messages of a connection, and nothing came \(--timeout\); 0 of 10 messages/)
    expect(code).toBe(1)
    peer.close()
  })

  it('udaddy: sizes that differ', async () => {
    const devices = place.devices()
    const server = start(['udaddy', '-S', '50', '--device', devices.server, '--timeout', '2'])
    const served = outcome(server)
    const args = ['udaddy', '-S', '500', '-s', address, '--device', devices.client, '--timeout', '2', ...patience]
    const client = await outcome(start(args))
    const { code, stderr } = await served
    expect(stderr).toMatch(/-S the same at both ends/)
    expect(client.stderr).toMatch(/0 of 10 messages came: a datagram that is lost is not sent again/)
    expect([code, client.code]).toEqual([1, 1])
  })
}
