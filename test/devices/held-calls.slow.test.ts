/**
 * Programs on verbs, rsockets and the RDMA CM make no system call that may run another thread in their place while they have a lock or are
 * in an operation (src/memory/held.ts), but for those of a table.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'
import { command } from '../built.ts'
import { loopbackDevice } from '../loopback.ts'

interface HeldCall {
  readonly call: string
  readonly held: readonly string[]
  /** The functions that led to it, the innermost first. */
  readonly functions: readonly string[]
}

/** Calls that are meant, by the functions that lead to them, and what is held then. */
const meant: readonly {
  readonly by: readonly string[]
  readonly call: string
  readonly held: string
  readonly why: string
}[] = [
  {
    by: ['netlinkDump', 'Host.control'],
    call: 'send',
    held: 'lock',
    why: 'the first user of a device opens its sockets, for the addresses that the host has: both are one step',
  },
  {
    by: ['awaitService', 'Host.control'],
    call: 'write',
    held: 'lock',
    why: 'the thread that closes a socket waits until the service thread is not in the kernel with it, and wakes it for that',
  },
  {
    by: ['#awaitSleeper', 'Host.control'],
    call: 'write',
    held: 'lock',
    why: 'the same for the threads that wait for packets of it',
  },
  {
    by: ['Sockets.flush'],
    call: 'sendmsg',
    held: 'lock,operation',
    why: 'packets of one queue pair leave in their order because whoever sends them has the lock of the adapter',
  },
]

const isMeant = ({ call, held, functions }: HeldCall): boolean =>
  meant.some(
    (each) =>
      each.call === call &&
      each.held === held.join().replace('operation,lock', 'lock,operation') &&
      each.by.every((name) => functions.includes(name)),
  )

const folder = mkdtempSync(join(tmpdir(), 'held-calls-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0

/** Runs both ends of a program, each a process; the calls that they made, threads of both included. */
async function callsOf(server: readonly string[], client: readonly string[]): Promise<HeldCall[]> {
  const file = join(folder, `${files++}`)
  const env = { ...process.env, VERBENA_HELD_CALLS: file }
  const start = (options: readonly string[]): ChildProcess =>
    spawn(process.execPath, [command, ...options], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  const ends = [start(server), start(client)]
  const codes = await Promise.all(ends.map((end) => once(end, 'exit')))
  expect(codes).toEqual([
    [0, null],
    [0, null],
  ])
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as HeldCall)
}

const port = 20_000 + (process.pid % 10_000) * 4
const shared = `shm:held-${process.pid}`
const wires: Record<string, readonly [string, string]> = {
  'roce, one adapter': [loopbackDevice(1), loopbackDevice(1)],
  'roce, two adapters': [loopbackDevice(2), loopbackDevice(3)],
  shm: [shared, shared],
}

/** What each program is told at both ends, and how its client names the server. */
const programs: Record<string, { readonly options: readonly string[]; readonly to: readonly string[] }> = {
  'rc_pingpong, events': { options: ['rc_pingpong', '-e', '-n', '200'], to: ['127.0.0.1'] },
  'rc_pingpong, polling, long messages': { options: ['rc_pingpong', '-s', '200000', '-n', '20'], to: ['127.0.0.1'] },
  ud_pingpong: { options: ['ud_pingpong', '-n', '200'], to: ['127.0.0.1'] },
  'rstream, blocking': { options: ['rstream', '-T', 'b', '-S', '3000', '-C', '50', '-I', '2'], to: ['-s'] },
  'ucmatose, five connections': { options: ['ucmatose', '-c', '5', '-C', '10'], to: ['-s'] },
}

describe.skipIf(!nativeAvailable)(
  'no call that may switch threads is made under a lock or in an operation, but for those that are meant',
  () => {
    for (const [wire, [server, client]] of Object.entries(wires))
      for (const [i, [program, { options, to }]] of Object.entries(programs).entries())
        it(`${wire}: ${program}`, { timeout: 120_000 }, async () => {
          const all = [...options, '-p', String(port + i), '--timeout', '60']
          const address = server.startsWith('roce:') ? server.slice(5) : 'localhost'
          const calls = await callsOf(
            [...all, '-d', server],
            [...all, '-d', client, '--wait', '30', ...to, ...(to[0] === '-s' ? [address] : [])],
          )
          expect(calls.filter((each) => !isMeant(each))).toEqual([])
          // What opens a device is seen, so that what is watched is watched.
          if (wire.startsWith('roce')) expect(calls.some(isMeant)).toBe(true)
        })
  },
)
