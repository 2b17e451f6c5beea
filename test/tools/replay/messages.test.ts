/** The messages of captures, performed by real queue pairs of both devices. */
import { describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/memory/index.ts'
import { freePort } from '../../cli/ends.ts'
import { begin, verbena } from '../../cli/in-process.ts'
import { root } from '../../docs/markdown.ts'

const capture = (name: string): string => `${root}test/captures/${name}.pcap`
async function replay(devices: readonly [string, string], name: string, ...options: string[]) {
  const tcp = String(await freePort())
  const server = begin(['replay', 'server', '-d', devices[0], '-p', tcp])
  await server.says(/waiting/)
  const client = await verbena(
    'replay',
    'client',
    capture(name),
    'localhost',
    '-d',
    devices[1],
    '-p',
    tcp,
    '--json',
    ...options,
  )
  return { client, server: await server.outcome }
}

it('lists messages as JSON lines', async () => {
  const { code, stdout, stderr } = await verbena('replay', 'messages', capture('rping'))
  expect(code).toBe(0)
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines).toHaveLength(30)
  expect(lines[1]).toMatchObject({ id: 1, type: 'RC', op: 'read', bytes: 100, after: 0, wait: 'received' })
  expect(stderr).toContain('5 datagrams are of the connection manager')
})

describe.skipIf(!nativeAvailable)('performs', { timeout: 30_000 }, () => {
  it.each([
    ['rping', { send: [20, 320], read: [5, 500], write: [5, 500] }, { messages: 20, bytes: 320, writes: 5 }],
    ['atomic_lat', { fetch_add: [10, 80] }, { messages: 0, bytes: 0, writes: 0 }],
    ['write_bw', { write: [20, 163_840] }, { messages: 0, bytes: 0, writes: 20 }],
    ['srq_pingpong', { send: [16, 8000] }, { messages: 16, bytes: 8000, writes: 0 }],
    ['udaddy', { send_with_imm: [10, 2000] }, { messages: 10, bytes: 2000, writes: 0 }],
  ])('%s in shared memory, with the sizes of the capture', async (name, operations, received) => {
    const device = `shm:replay-${name}`
    const { client, server } = await replay([device, device], name)
    expect([client.code, server.code], client.stdout + client.stderr).toEqual([0, 0])
    const result = JSON.parse(client.stdout)
    expect(result).toMatchObject({ same: true, received, failed: 0, lost: 0, wrongSizes: 0, impatient: 0 })
    for (const [op, [messages, bytes]] of Object.entries(operations))
      expect(result.operations).toContainEqual({ op, recorded: { messages, bytes }, performed: { messages, bytes } })
    for (const { ks } of result.times) expect(ks === null || (ks >= 0 && ks <= 1)).toBe(true)
  })

  it.each([
    ['uc_pingpong', []],
    ['rstream', ['--mode', 'open', '--speed', '0.5x']],
    ['read_lat', ['--speed', 'top']],
  ] as const)('%s over RoCE %j', async (name, options) => {
    const { client, server } = await replay(['roce:127.0.0.62', 'roce:127.0.0.63'], name, ...options)
    expect([client.code, server.code], client.stdout + client.stderr).toEqual([0, 0])
    expect(JSON.parse(client.stdout)).toMatchObject({ same: true, failed: 0, lost: 0 })
  })

  it('says which ends cannot reach each other', async () => {
    const { client } = await replay(['shm:replay-a', 'shm:replay-b'], 'rping')
    expect(client.code).not.toBe(0)
    expect(client.stderr).toMatch(/different segments/)
  })
})
