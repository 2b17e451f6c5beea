/** A server process that is killed in the middle of a run: its requests fail, the other server's are complete. */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { canShare, freePort, segment } from '../../cli/ends.ts'
import { begin } from '../../cli/in-process.ts'
import { type Program, startProcess } from '../../cli/run.ts'
import { loopbackDevice } from '../../loopback.ts'
import { configuration, folder } from './ends.ts'

const shared = segment()
const devices = [
  { on: 'shm', client: shared, servers: [shared, shared] },
  { on: 'roce', client: loopbackDevice(1), servers: [loopbackDevice(2), loopbackDevice(3)] },
]

/** A server in a process of its own that listens. */
async function serving(device: string): Promise<{ port: number; process: Program; ended: Promise<number | null> }> {
  const port = Number(await freePort())
  const process = startProcess(['traffic', 'server', '-d', device, '-p', String(port), '--once'])
  const ended = new Promise<number | null>((resolve) => process.on('close', resolve))
  await new Promise<void>((resolve, reject) => {
    let text = ''
    process.stderr!.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      if (text.includes('listening')) resolve()
    })
    process.on('close', () => reject(new Error(`the server ended: ${text}`)))
  })
  return { port, process, ended }
}

describe.skipIf(!canShare).each(devices)('a server on $on', { timeout: 120_000 }, ({ on, client, servers }) => {
  it('that is killed is counted, and the others go on', async () => {
    const [dead, alive] = [await serving(servers[0]!), await serving(servers[1]!)]
    // More than are due before it is killed, however long that takes.
    const yaml = `count: 40000
requests: 10k/s
size: 4000
verbs: { send: 40, write: 30, read: 30 }`
    const file = configuration([dead.port, alive.port], yaml)
    const out = join(folder, `killed-${on}`)
    const running = begin(['traffic', 'client', file, '-d', client, '--out', out])
    await running.says(/connected to 2 of 2 servers/)
    dead.process.kill('SIGKILL')
    await dead.ended
    const { code, stdout, stderr } = await running.outcome
    expect(code).toBe(1)
    expect(stderr).toMatch(new RegExp(`^verbena: 127.0.0.1:${dead.port}: .`, 'm'))
    const row = (port: number): number[] =>
      new RegExp(`^127\\.0\\.0\\.1:${port} +(\\d+) +(\\d+) +(\\d+) `, 'm').exec(stdout)!.slice(1).map(Number)
    const [killed, other] = [row(dead.port), row(alive.port)]
    expect(killed[2]).toBeGreaterThan(0)
    expect(other.slice(1)).toEqual([0, 0])
    expect(other[0]! + killed.reduce((sum, count) => sum + count, 0)).toBe(40_000)
    expect(await alive.ended).toBe(0)
  })
})
