import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { BlockList } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { decide, mayUseRdma } from '../../../src/node/preload/decide.ts'
import { fitsProgram, parseRule, parseRules } from '../../../src/node/preload/rules.ts'
import { readSettings } from '../../../src/node/preload/settings.ts'

const how = (rules: string, role: 'listen' | 'connect', address: string | null, port: number): string =>
  decide(parseRules(rules), role, address, port)?.transport ?? 'no rule'

describe('rules of the preload', () => {
  it('asks a list once for an address that comes again, and again for another', () => {
    const check = vi.spyOn(BlockList.prototype, 'check')
    const rules = parseRules('10.0.0.0/8')
    const fits = (address: string): boolean => decide(rules, 'connect', address, 1) !== undefined
    expect(['10.0.0.1', '10.0.0.1', '11.0.0.1', '11.0.0.1', '10.0.0.1'].map(fits)).toEqual([
      true,
      true,
      false,
      false,
      true,
    ])
    expect(check).toHaveBeenCalledTimes(3)
    check.mockRestore()
  })

  it.each([
    ['10.0.0.0/8:*', 'connect', '10.1.2.3', 80, 'rdma'],
    ['10.0.0.0/8:*', 'connect', '11.1.2.3', 80, 'no rule'],
    ['10.0.0.0/8:*', 'connect', '::ffff:10.1.2.3', 80, 'rdma'],
    ['10.0.0.7', 'connect', '10.0.0.7', 1, 'rdma'],
    ['10.0.0.7:80', 'connect', '10.0.0.7', 81, 'no rule'],
    ['*:5000-5099', 'connect', 'fd00::1', 5099, 'rdma'],
    ['*:5000-5099', 'connect', 'fd00::1', 5100, 'no rule'],
    ['*', 'connect', '1.2.3.4', 5, 'rdma'],
    ['[fd00::]/8:443', 'connect', 'fd12::1', 443, 'rdma'],
    ['[fd00::1]:443', 'connect', 'fd00::1', 443, 'rdma'],
    ['[fd00::/8]:443', 'connect', 'fd00::9', 443, 'rdma'],
    ['fe80::/10', 'connect', 'fe80::1%eth0', 443, 'rdma'],
    ['fd00::1', 'connect', 'fd00::2', 443, 'no rule'],
    ['0.0.0.0/0', 'connect', '9.9.9.9', 9, 'rdma'],
    ['0.0.0.0/0', 'connect', 'fd00::1', 9, 'no rule'],
    ['::/0', 'connect', 'fd00::1', 9, 'rdma'],
    ['local', 'connect', '127.0.0.5', 9, 'rdma'],
    ['local:9', 'connect', '::1', 9, 'rdma'],
    ['local', 'connect', '192.0.2.1', 9, 'no rule'],
    ['!10.0.0.9, 10.0.0.0/8', 'connect', '10.0.0.9', 9, 'tcp'],
    ['!10.0.0.9, 10.0.0.0/8', 'connect', '10.0.0.8', 9, 'rdma'],
    ['10.0.0.0/8 rdma-only', 'connect', '10.0.0.8', 9, 'rdma-only'],
    ['10.0.0.0/8 tcp; *', 'connect', '10.0.0.8', 9, 'tcp'],
    ['listen *:80', 'listen', null, 80, 'rdma'],
    ['listen *:80', 'connect', '1.1.1.1', 80, 'no rule'],
    ['connect *', 'listen', null, 80, 'no rule'],
    ['10.0.0.0/8', 'listen', null, 80, 'rdma'],
    ['10.0.0.0/8', 'listen', '127.0.0.1', 80, 'no rule'],
    ['!10.0.0.9, 10.0.0.0/8', 'listen', '::', 80, 'rdma'],
    ['!*:80, *', 'listen', '0.0.0.0', 80, 'tcp'],
    ['*', 'listen', null, 0, 'rdma'],
    ['*:80', 'listen', null, 0, 'no rule'],
  ] as const)('%s: %s %s port %d: %s', (rules, role, address, port, transport) => {
    expect(how(rules, role, address, port)).toBe(transport)
  })

  it('are separated by commas, semicolons and line ends, and may have comments', () => {
    const rules = parseRules('# the laboratory\n10.0.0.1, 10.0.0.2 # two of them\n\n 10.0.0.3;10.0.0.4')
    expect(rules.map((rule) => rule.text)).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'])
  })

  it('name devices, times and programs', () => {
    const rule = parseRule('program=ser*.js connect 10.0.0.0/8:80 rdma-only device=shm:lab timeout=250')
    expect(rule).toMatchObject({ device: 'shm:lab', timeoutMs: 250, role: 'connect', transport: 'rdma-only' })
    expect(fitsProgram(rule, '/srv/app/server.js')).toBe(true)
    expect(fitsProgram(rule, '/srv/app/client.js')).toBe(false)
  })

  it.each([
    ['connect', 'names no address'],
    ['example.org:80', 'not host names'],
    ['10.0.0.0/33', '0 to 32 bits'],
    ['[fd00::]/129', '0 to 128 bits'],
    ['10.0.0.1:x', 'a range as 5000-5099'],
    ['10.0.0.1:9-8', 'a range as 5000-5099'],
    ['10.0.0.1:70000', 'a range as 5000-5099'],
    ['10.0.0.1 udp', 'an unknown word "udp"'],
    ['10.0.0.1 timeout=0', 'give milliseconds'],
    ['10.0.0.1 device=', 'no value for device='],
  ])('%s is refused: %s', (rule, why) => {
    expect(() => parseRule(rule)).toThrow(`the rule "${rule}"`)
    expect(() => parseRule(rule)).toThrow(why)
  })

  it('are asked first whether a port could matter at all', () => {
    const rules = parseRules('connect 10.0.0.0/8:80, listen *:90, !*:100')
    expect([80, 90, 100].map((port) => mayUseRdma(rules, 'connect', port))).toEqual([true, false, false])
  })
})

describe('settings of the preload', () => {
  it('come from the environment and a file, the environment first', () => {
    const directory = mkdtempSync(join(tmpdir(), 'verbena-'))
    try {
      const file = join(directory, 'rules')
      writeFileSync(file, '10.0.0.0/8   # all\nprogram=other.js *\n')
      const settings = readSettings(
        { VERBENA_PRELOAD: '!10.0.0.9', VERBENA_PRELOAD_FILE: file, VERBENA_PRELOAD_TIMEOUT_MS: '70', HOME: '/' },
        'app.js',
      )
      expect(settings.rules.map((rule) => rule.text)).toEqual(['!10.0.0.9', '10.0.0.0/8'])
      expect(settings).toMatchObject({ timeoutMs: 70, log: false })
    } finally {
      rmSync(directory, { recursive: true })
    }
  })

  it('have defaults', () => {
    expect(readSettings({}, 'app.js')).toEqual({ rules: [], timeoutMs: 250, log: false })
  })

  it('turn the fallback off for all rules', () => {
    const { rules } = readSettings({ VERBENA_PRELOAD: '10.0.0.1,!10.0.0.2', VERBENA_PRELOAD_FALLBACK: 'none' }, '')
    expect(rules.map((rule) => rule.transport)).toEqual(['rdma-only', 'tcp'])
  })

  it.each([
    [{ VERBENA_PRELOAD_FALBACK: 'x' }, 'VERBENA_PRELOAD_FALBACK is not a setting'],
    [{ VERBENA_PRELOAD_FALLBACK: 'maybe' }, 'give tcp or none'],
    [{ VERBENA_PRELOAD_TIMEOUT_MS: 'soon' }, 'give milliseconds'],
    [{ VERBENA_PRELOAD: 'nowhere' }, 'VERBENA_PRELOAD: the rule "nowhere"'],
    [{ VERBENA_PRELOAD_FILE: '/no/such/file' }, 'VERBENA_PRELOAD_FILE: ENOENT'],
  ])('%o: %s', (environment, why) => {
    expect(() => readSettings(environment, '')).toThrow(why)
  })
})
