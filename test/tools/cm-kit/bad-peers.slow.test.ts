/** Bad peers of the programs of the RDMA CM, on the first kind of device; and what cannot be. */
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { verbena } from '../../cli/run.ts'
import { badPeers } from './bad-peers.ts'
import { killLeftovers, places, says, start } from './ends.ts'

describe.each(places.slice(0, 1))('bad peers on $name', { timeout: 120_000 }, badPeers)

afterEach(killLeftovers)

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
