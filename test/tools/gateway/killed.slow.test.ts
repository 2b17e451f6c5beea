/** A gateway is killed in the middle of a run, and started again; the other one listens meanwhile, connects again, and counts. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/index.ts'
import { command } from '../../built.ts'
import { loopbackAddress } from '../../loopback.ts'

let folder = ''
const running: ChildProcess[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'verbena-gateway-'))
})
afterEach(() => {
  for (const child of running.splice(0)) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

interface Gateway {
  said(): string
  says(what: RegExp, times?: number): Promise<void>
  end(signal: 'SIGINT' | 'SIGKILL'): Promise<string>
}

function start(name: string, configuration: object): Gateway {
  const path = join(folder, name)
  writeFileSync(path, JSON.stringify(configuration))
  const child = spawn(process.execPath, [command, 'gateway', 'node', path, '--json'])
  running.push(child)
  let [said, printed] = ['', '']
  child.stderr.on('data', (text) => (said += text))
  child.stdout.on('data', (text) => (printed += text))
  return {
    said: () => said,
    says: async (what, times = 1) => {
      const every = new RegExp(what, 'g')
      await expect.poll(() => [...said.matchAll(every)].length, { timeout: 60_000 }).toBeGreaterThanOrEqual(times)
    },
    end: async (signal) => {
      child.kill(signal)
      await once(child, 'close')
      return printed
    },
  }
}

const rowsOf = (name: string): number[][] => {
  const lines = readFileSync(join(folder, name), 'utf8').split('\n').slice(1, -1)
  return lines.map((line) => line.split(',').map(Number))
}

it.skipIf(!nativeAvailable).each([
  ['RC', 'shm', 'receiver'],
  ['RC', 'shm', 'sender'],
  ['UC', 'shm', 'receiver'],
  ['RC', 'roce', 'receiver'],
  ['RC', 'roce', 'sender'],
])('%s on %s: the %s is killed', async (mode, on, killed) => {
  const device = on === 'shm' ? { device: `shm:killed-${process.pid}` } : {}
  const common = { type: 'infiniband', rdma_transport_mode: mode, ...device }
  const [here, there] =
    on === 'shm' ? ['127.0.0.1:1710', '127.0.0.1:1711'] : [`${loopbackAddress(13)}:1710`, `${loopbackAddress(14)}:1711`]
  const receiver = (round: number) =>
    start('receiver.json', {
      nodes: {
        ib: { ...common, in: { address: there, signals: '1f' } },
        file: { type: 'file', uri: join(folder, `received-${round}`), format: 'csv', out: { flush: true } },
      },
      paths: [{ in: 'ib', out: 'file', original_sequence_no: true }],
    })
  const sender = (first: number) =>
    start('sender.json', {
      nodes: {
        source: { type: 'signal', signal: 'counter', rate: 500, initial_sequenceno: first },
        ib: { ...common, out: { address: there }, in: { address: here } },
      },
      paths: [{ in: 'source', out: 'ib' }],
    })
  const rows = (round: number): number[][] => {
    try {
      return rowsOf(`received-${round}`)
    } catch {
      return []
    }
  }
  let receives = receiver(1)
  let sends = sender(0)
  await expect.poll(() => rows(1).length, { timeout: 60_000 }).toBeGreaterThan(100)
  if (killed === 'receiver') {
    await receives.end('SIGKILL')
    await sends.says(/: (the connection|.* disconnected|.*_(REJECTED|UNREACHABLE))/)
    receives = receiver(2)
  } else {
    await sends.end('SIGKILL')
    if (on === 'shm') await receives.says(/ready to accept new connections/)
    sends = sender(1_000_000)
  }
  const again = (): number[][] => (killed === 'receiver' ? rows(2) : rows(1).filter(([, , , n]) => n! >= 1_000_000))
  await expect.poll(() => again().length, { timeout: 60_000 }).toBeGreaterThan(100)
  const counts = JSON.parse(await sends.end('SIGINT')) as { nodes: { name: string; counts: Record<string, number> }[] }
  await receives.end('SIGINT')
  const { sent, not_connected, connections, written, lost, send_queue_full } = counts.nodes.find(
    ({ name }) => name === 'ib',
  )!.counts
  const made = counts.nodes.find(({ name }) => name === 'source')!.counts.read!
  expect(connections).toBe(killed === 'receiver' ? 2 : 1)
  // Whatever the generator made was posted, or is counted as lost.
  expect([written! + lost!, sent]).toEqual([made, written])
  expect(lost).toBe(not_connected! + send_queue_full!)
  // Nothing comes twice, and while there is a connection nothing is missing but what the generator did not make.
  const received = [1, 2].map((round) => rows(round).map(([, , , sequence]) => sequence!))
  expect(received.flat()).toEqual([...new Set(received.flat())].sort((a, b) => a - b))
  if (killed === 'sender') return
  const missed = counts.nodes.find(({ name }) => name === 'source')!.counts.missed_steps!
  const gaps = received.map((list) => list.at(-1)! - list[0]! + 1 - list.length)
  expect(gaps[0]! + gaps[1]!).toBeLessThanOrEqual(missed)
})
