/** rstream, riostream and rcopy between two processes, each against itself, on one kind of device or over TCP of the kernel. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, it } from 'vitest'
import type { RcopyResult } from '../../../src/tools/rcopy/run.ts'
import type { StreamResult } from '../../../src/tools/rs-kit/stream.ts'
import { freePort } from '../../cli/ends.ts'
import { outcome } from '../../cli/run.ts'
import { killLeftovers, type Place, patience, places, runEnds, says, start } from '../cm-kit/ends.ts'

const heading = 'name      bytes   xfers   iters   total       time     Gb/sec    usec/xfer\n'
const row = (name: string, bytes: string, xfers: string, iters: string, total: string): string =>
  `${name.padEnd(10)}${[bytes, xfers, iters, total].map((text) => text.padEnd(8)).join('')} +\\d+\\.\\d\\ds +\\d+\\.\\d\\d +\\d+\\.\\d\\d\n`
const few = ['-S', '3000', '-I', '20', '-C', '5']

/** With keepalives, rstream prints how often they come once it is connected. */
const connectedIsSaid = ['-k', '60']
const connected = /time: 60/
/** Most likely messages are in flight by then; what follows is the same without. */
const amid = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 100))

/** The programs, and how their sockets wait. */
const allWays = [
  ['rstream', 'async'],
  ['rstream', 'b'],
  ['riostream', 'a'],
  ['riostream', 'blocking'],
] as const

/** What the programs print, in their formats. */
export function printing(place: Place, ways: readonly (readonly [name: string, how: string])[] = allWays): void {
  const { address } = place
  afterEach(killLeftovers)

  it.each(['rstream', 'riostream'])('%s prints what that of librdmacm prints', async (name) => {
    const args = [name, ...few, '-T', 'v']
    const { server, client } = await runEnds(place, [...args, '-b', address], [...args, '-s', address])
    for (const { stdout, stderr, code } of [server, client]) {
      expect(stderr).toBe('')
      expect(stdout).toMatch(new RegExp(`^${heading}${row('custom', '2.9k', '5', '20', '585k')}$`))
      expect(code).toBe(0)
    }
  })

  it.each(ways)('%s -T %s, as JSON', async (name, how) => {
    const args = [name, ...few, '-T', how, '-T', 'verify', '-B', '65536', '--json']
    const { server, client } = await runEnds(place, args, [...args, '-s', address])
    for (const [i, { stdout, stderr, code }] of [server, client].entries()) {
      expect(stderr).toBe('')
      const result = JSON.parse(stdout) as StreamResult
      expect(result).toMatchObject({ tool: name, role: ['server', 'client'][i], socket: 'rsocket' })
      expect(result.rows).toMatchObject([{ name: 'custom', size: 3000, transfers: 5, iterations: 20, bytes: 600_000 }])
      expect(code).toBe(0)
    }
  })
}

/** Files, and ends that are killed or not there. */
export function running(place: Place): void {
  const { address } = place
  const directory = mkdtempSync(join(tmpdir(), 'verbena-rstools-'))
  afterAll(() => rmSync(directory, { recursive: true }))
  afterEach(killLeftovers)

  it('rcopy: files, names, directories, and the server after Ctrl-C', async () => {
    const devices = place.devices()
    const incoming = join(directory, `incoming-${place.name}`)
    mkdirSync(incoming)
    const file = join(directory, 'file.bin')
    const bytes = Buffer.from(Array.from({ length: 1_300_001 }, (_, i) => (i * 7 + (i >> 8)) & 255))
    writeFileSync(file, bytes, { mode: 0o640 })
    const empty = join(directory, 'empty')
    writeFileSync(empty, '')
    const server = start(['rcopy', '--dir', incoming, '--device', devices.server, '--json'])
    const served = outcome(server)
    const client = (...args: string[]) => outcome(start(['rcopy', ...args, '--device', devices.client, ...patience]))
    const copied = await client(file, address)
    expect(copied.stderr).toBe('')
    expect(copied.stdout).toMatch(
      /^opening\.\.\.transferring\.\.\.closing\.\.\.done\n1300001 bytes in \d+\.\d\d seconds = \d+\.\d\d Gb\/sec\n$/,
    )
    expect(readFileSync(join(incoming, 'file.bin')).equals(bytes)).toBe(true)
    expect(statSync(join(incoming, 'file.bin')).mode & 0o777).toBe(0o640)
    // A shorter file takes the place of a longer one.
    expect((await client(empty, `${address}:file.bin`, '--json')).code).toBe(0)
    expect(statSync(join(incoming, 'file.bin')).size).toBe(0)
    symlinkSync(directory, join(incoming, 'out'))
    const victim = join(directory, `victim-${place.name}`)
    writeFileSync(victim, 'mine')
    symlinkSync(victim, join(incoming, 'link'))
    const absent = join(directory, `absent-${place.name}`)
    symlinkSync(absent, join(incoming, 'dangling'))
    // Names have nothing to do with the device: the rarer ones on one of those of the slower suites.
    const rare = place === places[1]
    for (const name of ['../file.bin', 'out/file.bin', 'nowhere/file.bin', ...(rare ? ['link', 'dangling'] : [])]) {
      const outside = await client(file, `${address}:${name}`, '--json')
      expect(outside.stderr).toMatch(/the server could not do it: (EACCES|ENOENT|ELOOP)/)
      expect(outside.code).toBe(1)
    }
    expect(readFileSync(file).equals(bytes)).toBe(true)
    expect(readFileSync(victim, 'utf8')).toBe('mine')
    expect(existsSync(absent)).toBe(false)
    // A link to a file within is as good as that, and two dots may begin a name.
    symlinkSync('file.bin', join(incoming, 'within'))
    const legal = rare ? ['within', '..foo'] : []
    for (const name of legal) expect((await client(file, `${address}:${name}`, '--json')).code).toBe(0)
    if (rare)
      for (const name of ['file.bin', '..foo']) expect(readFileSync(join(incoming, name)).equals(bytes)).toBe(true)
    server.kill('SIGINT')
    const { code, stdout } = await served
    expect((JSON.parse(stdout) as RcopyResult).files.map((one) => one.bytes)).toEqual([
      1_300_001,
      0,
      ...legal.map(() => 1_300_001),
    ])
    expect(code).toBe(130)
  })

  it('a stream whose other end is killed ends with a sentence', async () => {
    const devices = place.devices()
    const server = start([
      'rstream',
      '-b',
      address,
      '--device',
      devices.server,
      '-I',
      '100000000',
      '-C',
      '1',
      '--timeout',
      '8',
    ])
    const served = outcome(server)
    await says(server, /usec/)
    const args = ['rstream', '-s', address, '-I', '100000000', '-C', '1', '--device', devices.client, '--timeout', '8']
    const client = start([...args, ...connectedIsSaid, ...patience])
    const ended = outcome(client)
    await says(client, connected)
    await amid()
    server.kill('SIGKILL')
    await served
    const { code, stderr } = await ended
    expect(stderr).toMatch(/verbena: ((send|recv): .+|.*nothing came.*)\n$/)
    expect(code).toBe(1)
  })

  it('nobody listens there', async () => {
    const devices = place.devices()
    const other = start(['rping', '-s', '-d', '-a', address, '--device', devices.server])
    const ended = outcome(other)
    await says(other, /listening/)
    const { code, stderr } = await outcome(start(['rstream', '-s', address, '--device', devices.client]))
    expect(stderr).toMatch(/nobody listens on 127\.\S+ port 7471: start the server there first/)
    expect(code).toBe(1)
    other.kill('SIGINT')
    await ended
  })
}

/** Long messages, and ends that are interrupted. */
export function interrupted(place: Place): void {
  const { address } = place
  afterEach(killLeftovers)

  it('one message at a time, each of one byte; and one that is larger than all buffers', async () => {
    const bytes = await runEnds(
      place,
      ['rstream', '-S', '1', '-I', '50', '-C', '1'],
      ['rstream', '-S', '1', '-I', '50', '-C', '1', '-s', address],
    )
    const large = ['rstream', '-S', '3000000', '-I', '1', '-C', '2', '-T', 'v']
    const megabytes = await runEnds(place, large, [...large, '-s', address])
    expect([bytes.server, bytes.client, megabytes.server, megabytes.client].map(({ code }) => code)).toEqual([
      0, 0, 0, 0,
    ])
  })

  it('Ctrl-C, while nobody comes and in the middle', async () => {
    const devices = place.devices()
    const args = ['-I', '10000000', '-C', '1']
    const server = start(['rstream', ...args, '-b', address, '--device', devices.server])
    const served = outcome(server)
    await says(server, /usec/)
    const more = [...connectedIsSaid, ...patience]
    const client = start(['rstream', ...args, '-s', address, '--device', devices.client, ...more])
    const asked = outcome(client)
    await says(client, connected)
    await amid()
    client.kill('SIGINT')
    expect((await asked).code).toBe(130)
    const { code, stderr } = await served
    expect(stderr).toMatch(/verbena: (send|recv): /)
    expect(code).toBe(1)
    const lonely = start(['rcopy', '--device', devices.server])
    const over = outcome(lonely)
    await says(lonely, /waiting for connection/)
    lonely.kill('SIGINT')
    expect((await over).code).toBe(130)
  })
}

/** rstream over TCP of the kernel, with the further options `how`. */
export function overKernel(how: readonly string[]): void {
  afterEach(killLeftovers)

  it(`rstream -T s ${how.join(' ')}`, async () => {
    const port = await freePort()
    const args = ['rstream', '-T', 's', ...how, ...few, '-T', 'v', '-p', port, '--json']
    const server = outcome(start([...args, '-b', '127.0.0.1']))
    const client = await outcome(start([...args, '-s', 'localhost', ...patience]))
    for (const { stdout, stderr, code } of [await server, client]) {
      expect(stderr).toBe('')
      expect(JSON.parse(stdout)).toMatchObject({ tool: 'rstream', socket: 'tcp', rows: [{ bytes: 600_000 }] })
      expect(code).toBe(0)
    }
  })
}
