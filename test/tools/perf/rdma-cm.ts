/** `verbena perf … -R` between two processes on one kind of device: queue pairs that the RDMA CM connects. */
import { afterEach, expect, it } from 'vitest'
import { canShare, freePort, segment } from '../../cli/ends.ts'
import { outcome } from '../../cli/run.ts'
import { loopbackDevice } from '../../loopback.ts'
import { killLeftovers, patience, start } from '../cm-kit/ends.ts'

interface Document {
  settings: { rdmaCm: boolean; connection: string; qps: number }
  runs: { client: { latency: { count: number; lost: number } | null; sent: { messages: number } | null } }[]
}

interface Kind {
  name: string
  devices(): [server: string, client: string]
}

export const kinds: Kind[] = [
  ...(canShare
    ? [
        {
          name: 'shm',
          devices: (): [string, string] => {
            const device = segment()
            return [device, device]
          },
        },
      ]
    : []),
  { name: 'roce', devices: () => [loopbackDevice(1), loopbackDevice(2)] },
]

export function rdmaCm({ devices }: Kind): void {
  afterEach(killLeftovers)

  const run = async (args: string[], serverArgs: string[] = ['-R']): Promise<Document> => {
    const port = await freePort()
    const [server, client] = devices()
    const common = ['perf', args[0]!, '-p', port, '--json']
    const serving = outcome(start([...common, ...serverArgs, '-d', server]))
    const more = ['-n', '60', '--warmup', '10', '-d', client, ...patience, '127.0.0.1']
    const asked = await outcome(start([...common, ...args.slice(1), '-R', ...more]))
    const served = await serving
    expect([asked.stderr, served.stderr, asked.code, served.code]).toEqual(['', '', 0, 0])
    return JSON.parse(asked.stdout) as Document
  }

  it.each([
    ['send_lat', '-c', 'RC'],
    ['send_lat', '-c', 'UC'],
    ['send_lat', '-c', 'UD'],
    ['read_lat', '-o', '4'],
    ['write_lat', '-m', '1024'],
  ])('%s %s %s', async (...args) => {
    const { settings, runs } = await run(args)
    expect(settings.rdmaCm).toBe(true)
    const { count, lost } = runs[0]!.client.latency!
    expect(count + lost).toBe(60)
    // On UC and UD, what is not there within a second counts as lost: an end may get no processor for so long.
    expect(count).toBeGreaterThan(0)
    if (settings.connection === 'RC') expect(lost).toBe(0)
  })

  it('several queue pairs, sizes and directions; the server is told by the client', async () => {
    const { settings, runs } = await run(['write_bw', '-q', '5', '-b', '-s', '4096'], [])
    expect(settings).toMatchObject({ rdmaCm: true, qps: 5 })
    expect(runs.map(({ client }) => client.sent!.messages)).toEqual([300])
    const all = await run(['send_bw', '-c', 'UD', '-q', '2', '-a'])
    // Up to the MTU.
    expect(all.runs.length).toBe(12)
  })
}
