/** `verbena monitor` on live interfaces, in a network namespace of its own, beside tcpdump: what it counts is what was sent. */
import { execFileSync, spawnSync } from 'node:child_process'
import { release } from 'node:os'
import { describe, expect, it } from 'vitest'
import { command } from '../built.ts'

/** What is missing; undefined if nothing is. */
const missing = ((): string | undefined => {
  for (const program of ['ip', 'tcpdump', 'unshare', 'ps'])
    if (spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0) return `${program} is not installed`
  const made = spawnSync('unshare', ['-nm', 'ip', 'link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1'])
  return made.status === 0
    ? undefined
    : 'network namespaces and veth interfaces cannot be made here (root, CAP_NET_ADMIN)'
})()

/** Kernels before 6.2 do not say how long packets are that they hand over as one. */
const packetsAreSaid = release().localeCompare('6.2', 'en', { numeric: true }) >= 0

interface Totals {
  roce: number
  messages: number
  icrc: number
  malformed: number
  dropped: number
  fastPath: number
}

interface Seen {
  /** Packets, by the counters of the devices; null if they are not known. */
  sent: number | null
  codes: Record<'collect' | 'json' | 'screen' | 'pipe', number>
  json: Totals
  pipe: Totals
  /** The file of `collect trace`. */
  check: { packets: number; icrcValid: number; malformed: number[] }
  unplaced: number
  metrics: number
  page: number
  screen: number
}

interface Drops {
  code: number
  roce: number
  dropped: number
  overload: boolean
}

function watch<T>(kind: 'lo' | 'veth' | 'drops', count: number): T {
  const driver = new URL('monitor-live.mjs', import.meta.url).pathname
  const library = new URL('../../dist/index.js', import.meta.url).href
  const args = ['-nm', process.execPath, driver, command, library, kind, `${count}`]
  return JSON.parse(execFileSync('unshare', args, { encoding: 'utf8', timeout: 100_000 })) as T
}

describe.skipIf(missing !== undefined)(missing ?? 'a live interface', () => {
  it.each(['lo', 'veth'] as const)('%s: every view has what was sent', { timeout: 110_000 }, (kind) => {
    const messages = 300
    const { sent, codes, json, pipe, check, unplaced, metrics, page, screen } = watch<Seen>(kind, messages)
    expect(codes).toEqual({ collect: 130, json: 130, screen: 130, pipe: 0 })
    expect(json).toMatchObject({ messages, icrc: 0, malformed: 0, dropped: 0 })
    expect(pipe).toEqual(json)
    expect(check).toMatchObject({ icrcValid: json.roce, malformed: [] })
    if (packetsAreSaid) expect(check.packets).toBe(json.roce)
    if (sent !== null) expect(json.roce).toBe(sent)
    expect([metrics, page, unplaced]).toEqual([messages, messages, 0])
    expect(screen).toBeGreaterThan(0)
  })

  it('counts what the kernel had no room for', { timeout: 110_000 }, () => {
    const sent = 2000
    const { code, roce, dropped, overload } = watch<Drops>('drops', sent)
    expect([code, roce + dropped, overload]).toEqual([130, sent, true])
    expect(Math.min(roce, dropped)).toBeGreaterThan(0)
  })
})
