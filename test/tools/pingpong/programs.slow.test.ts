/** The ping-pong programs between two processes, and what they say when something is wrong. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { PingPongResult } from '../../../src/tools/pingpong/run.ts'
import { canShare, freePort, runEnds, segment } from '../../cli/ends.ts'
import { outcome, start, verbena } from '../../cli/run.ts'

const few = ['-n', '50']
const address = (where: string, separator: string) =>
  `  ${where} LID 0x0001, QPN 0x[0-9a-f]{6}, PSN 0x[0-9a-f]{6}${separator} GID ::\n`
const figures = (bytes: number, iters: number) =>
  `${bytes} bytes in \\d+\\.\\d\\d seconds = \\d+\\.\\d\\d Mbit/sec\n${iters} iters in \\d+\\.\\d\\d seconds = \\d+\\.\\d\\d usec/iter\n`

describe.skipIf(!canShare)('two processes', { timeout: 120_000 }, () => {
  it.each([
    ['rc', 4096, ','],
    ['uc', 4096, ','],
    ['ud', 1024, ':'],
  ])('%s_pingpong prints what ibv_%s_pingpong prints', async (kind, size, separator) => {
    const { server, client } = await runEnds([`${kind}_pingpong`, ...few])
    const expected = new RegExp(
      `^${address('local address: ', separator as string)}${address('remote address:', ',')}${figures(2 * 50 * Number(size), 50)}$`,
    )
    for (const { stdout, stderr, code } of [server, client]) {
      expect(stderr).toBe('')
      expect(stdout).toMatch(expected)
      expect(code).toBe(0)
    }
  })

  it('srq_pingpong shows all its queue pairs', async () => {
    const { server, client } = await runEnds(['srq_pingpong', '-q', '3', '-s', '100', '-n', '60'])
    const expected = new RegExp(
      `^(${address('local address: ', ',')}){3}(${address('remote address:', ',')}){3}${figures(12000, 60)}$`,
    )
    for (const { stdout, code } of [server, client]) {
      expect(stdout).toMatch(expected)
      expect(code).toBe(0)
    }
  })

  it.each(['rc', 'uc', 'ud', 'srq'])('%s_pingpong with events, a GID, a check and JSON', async (kind) => {
    const { server, client } = await runEnds([
      `${kind}_pingpong`,
      ...few,
      '-s',
      '3000',
      '-e',
      '-g',
      '0',
      '-c',
      '--json',
    ])
    const results = [client, server].map(({ stdout }) => JSON.parse(stdout) as PingPongResult)
    for (const [i, result] of results.entries()) {
      expect(result).toMatchObject({
        tool: `${kind}_pingpong`,
        role: ['client', 'server'][i],
        size: 3000,
        iters: 50,
        events: true,
        bytes: 300000,
        invalidPages: [],
      })
      expect(result.local[0]!.gid).toMatch(/^fe80::/)
      expect(result.usecPerIter).toBeCloseTo((result.seconds * 1e6) / 50, 6)
    }
    expect(results[0]!.local).toEqual(results[1]!.remote)
    expect(results[1]!.local).toEqual(results[0]!.remote)
  })

  it('a check finds what the client did not write for it', async () => {
    const { server, client } = await runEnds(['rc_pingpong', ...few, '-s', '9000'], ['-c'])
    expect(client.code).toBe(0)
    expect(server.stdout).toMatch(/invalid data in page 0\ninvalid data in page 1\ninvalid data in page 2\n$/)
    expect(server.code).toBe(1)
  })

  it('says that the peer is another kind of ping-pong, or gone', async () => {
    const common = ['-d', segment(), '-p', await freePort(), '--timeout', '2']
    const server = start(['uc_pingpong', ...common, '--json'])
    const client = await verbena('rc_pingpong', ...common, '--wait', '60', 'localhost')
    expect(client.stderr).toMatch(/status 12 \(.*retry counter exceeded.*is the peer the same program \(rc_pingpong\)/)
    expect(client.code).toBe(1)
    const { code, stdout, stderr } = await outcome(server)
    expect(JSON.parse(stdout)).toMatchObject({ bytes: 0, failure: { code: 'PEER_SILENT', sent: 0, received: 0 } })
    expect(stderr).toMatch(/nothing came for 2 s after 0 of 1000 messages: UC does not repeat what is lost/)
    expect(code).toBe(1)
  })

  it('a server tells a stranger from a peer', async () => {
    const port = await freePort()
    const server = start(['rc_pingpong', '-d', segment(), '-p', port])
    const done = outcome(server)
    for (;;) {
      const stranger = connect(Number(port), '127.0.0.1')
      if (
        await once(stranger, 'connect').then(
          () => true,
          () => false,
        )
      ) {
        stranger.end('nobody here speaks this, and nobody will ever learn it.')
        break
      }
    }
    const { code, stderr } = await done
    expect(stderr).toMatch(/^verbena: 127\.0\.0\.1 port \d+: the peer sent "nobody here.*is it another program\?\n$/)
    expect(code).toBe(1)
  })
})

describe('what cannot be', { timeout: 60_000 }, () => {
  it('nobody listens, or somebody else does', async () => {
    const port = await freePort()
    const nobody = await verbena('ud_pingpong', '-p', port, '127.0.0.1')
    expect(nobody.stderr).toMatch(/nobody listens on 127\.0\.0\.1 port \d+: start the same command there first/)
    expect(nobody.code).toBe(1)
    const holder = createServer().listen(Number(port))
    await once(holder, 'listening')
    const taken = await verbena('rc_pingpong', '-p', port)
    expect(taken.stderr).toMatch(/TCP port \d+ is in use.*-p/)
    expect(taken.code).toBe(1)
    holder.close()
  })

  it.each([
    [['rc_pingpong', '-s', '0'], /-s: '0'/],
    [['rc_pingpong', '-m', '1000'], /-m: '1000' is not valid. Expected 256, 512/],
    [['rc_pingpong', '-d', 'shm0'], /-d: shm0 lives within one process/],
    [['rc_pingpong', '-d', 'mlx5_9'], /-d: there is no device 'mlx5_9'; there are shm0/],
    [['rc_pingpong', '-t'], /-t: completions carry no timestamps/],
    [['rc_pingpong', '-N'], /-N: posting goes one way here/],
    [['ud_pingpong', '-s', '5000'], /-s: a UD message is one packet, at most the active MTU of 4096/],
    [['rc_pingpong', '-i', '2'], /-i: .* has one port/],
    [['rc_pingpong', '-g', '9'], /-g: .* has one GID,/],
    [['srq_pingpong', '-q', '20', '-r', '10'], /-r: 10 receives are too few for 20 queue pairs/],
    [['rc_pingpong', 'a', 'b'], /too many arguments/],
  ])('verbena %j exits with 2 and says why', async (args, message) => {
    const { code, stderr } = await verbena(...args)
    expect(stderr).toMatch(message)
    expect(code).toBe(2)
  })
})
