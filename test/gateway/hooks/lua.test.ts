/** The hook lua: scripts, expressions, and what they do wrong. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadHookTypes } from '../../../src/gateway/host/index.ts'
import { type HookType, type Signal, SignalType } from '../../../src/gateway/index.ts'
import { Bench } from './bench.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-lua-'))
afterAll(() => rmSync(folder, { recursive: true }))
let types: Readonly<Record<string, HookType>>
beforeAll(async () => {
  types = await loadHookTypes([{ type: 'lua', priority: null, enabled: true, settings: {} }], folder)
})

const signals: Signal[] = [
  { name: 'voltage', unit: 'V', type: SignalType.float },
  { name: 'count', unit: '', type: SignalType.integer, init: 7 },
  { name: 'on', unit: '', type: SignalType.boolean },
  { name: 'phasor', unit: '', type: SignalType.complex },
]
let scripts = 0

function bench(script: string | null, settings: object = {}): Bench {
  const name = `${++scripts}.lua`
  if (script !== null) writeFileSync(join(folder, name), script)
  return new Bench({ type: 'lua', ...(script !== null && { script: name }), ...settings }, signals, { types })
}

const sample = {
  sequence: 5,
  origin: [1000, 250] as [number, number],
  values: [2.5, -3, true, [1, 2] as [number, number]],
}

describe('a script', () => {
  it('gets a sample as a table, by names, and changes it', () => {
    const it = bench(`
      function process(smp)
        smp.data.voltage = smp.data.voltage * 2 + smp.ts_origin[1]
        smp.data.count = smp.data.count - 1
        smp.data.on = not smp.data.on
        smp.sequence = smp.sequence + 1
        smp.ts_origin[0] = smp.ts_origin[0] + 1
        return 0
      end`)
    expect(it.one({ ...sample, newFrame: true })).toEqual({
      sequence: 6,
      origin: [1001, 250],
      newFrame: true,
      values: [255, -4, false, [1, 2]],
    })
    expect(it.log).toEqual([])
  })

  it('by indices from 0; what it takes away the sample has not, and a value is its signal’s first', () => {
    const it = bench('function process(smp) smp.data[1] = nil; smp.ts_origin = nil; smp.sequence = nil; return 0 end', {
      use_names: false,
    })
    expect(it.one(sample)).toEqual({ values: [2.5, 7, true, [1, 2]] })
  })

  it('says what becomes of a sample', () => {
    const it = bench('function process(smp) return smp.sequence end')
    expect([0, 1, 2].map((sequence) => it.one({ sequence, values: [1] }))).toEqual([expect.anything(), 'error', 'skip'])
    expect(it.one({ sequence: 9, values: [1] })).toMatchObject({ sequence: 9 })
    expect(it.one({ sequence: 9, values: [1] })).toMatchObject({ sequence: 9 })
    expect(it.log).toEqual(['warn: hook lua: process() returns no number from 0 to 3: samples pass'])
  })

  it('has its moments, its settings, and the log', () => {
    const it = bench(
      `function prepare(cfg) info('prepare', cfg.gain, cfg.this.is[0], cfg.this.flag) end
       function start() warn('start') end
       function stop() error('stop') end
       function periodic() debug('periodic') end`,
      { gain: 1.5, this: { is: ['nested'], flag: true } },
    )
    it.chain.periodic()
    it.chain.restart()
    it.chain.stop()
    expect(it.log).toEqual([
      'info: prepare\t1.5\tnested\ttrue',
      'warn: start',
      'debug: periodic',
      'error: stop',
      'warn: start',
      'error: stop',
    ])
    const own = bench('function restart() info("restart") end function stop() info("stop") end')
    own.chain.restart()
    expect(own.log).toEqual(['info: restart'])
  })

  it('that fails drops the sample, and says so once', () => {
    const it = bench('function process(smp) return smp.nothing.there end function periodic() x.y() end')
    expect([it.one(sample), it.one(sample)]).toEqual(['error', 'error'])
    it.chain.periodic()
    it.chain.stop()
    expect(it.log).toEqual([
      expect.stringMatching(/^error: hook lua: \d+.lua:1: attempt to index a nil value \(field 'nothing'\); so/),
      expect.stringMatching(/^error: hook lua: \d+.lua:1: attempt to index a nil value \(global 'x'\)/),
      'error: hook lua: 2 samples were dropped, because the script failed',
    ])
  })

  it('64-bit numbers are exact up to 2^53', () => {
    const it = bench(
      'function process(smp) smp.data.count = smp.data.count + 1; smp.sequence = smp.sequence + 1; return 0 end',
    )
    expect(it.one({ sequence: 2 ** 40, values: [0, -(2 ** 45)] })).toMatchObject({
      sequence: 2 ** 40 + 1,
      values: [0, -(2 ** 45) + 1, false, expect.anything()],
    })
  })
})

describe('expressions', () => {
  it('nil leaves the value that is there', () => {
    const it = bench('', {
      signals: [
        { name: 'voltage', expression: 'smp.data.voltage > 3 and 3 or nil' },
        { name: 'new', expression: 'nil', type: 'boolean' },
      ],
    })
    expect(it.one({ sequence: 1, values: [5, 2] })).toMatchObject({ values: [3, false] })
    expect(it.one({ sequence: 2, values: [2, 2] })).toMatchObject({ values: [2, false] })
  })

  it('make the signals, after the script', () => {
    const it = bench(
      'function process(smp) last = smp.sequence; smp.data.voltage = smp.data.voltage + 1; return 0 end',
      {
        signals: [
          { name: 'double', expression: 'smp.data.voltage * 2', unit: 'V' },
          { name: 'last', expression: 'last', type: 'integer' },
          { name: 'high', expression: 'smp.data.voltage > 3', type: 'boolean' },
          { name: 'wave', expression: 'math.sin(math.pi / 2)' },
          { name: 'none', expression: 'nothing' },
        ],
      },
    )
    expect(it.chain.signals.map(({ name, unit }) => [name, unit])).toEqual([
      ['double', 'V'],
      ['last', ''],
      ['high', ''],
      ['wave', ''],
      ['none', ''],
    ])
    expect(it.one(sample)).toEqual({ ...sample, values: [7, 5, true, 1, 0] })
  })

  it('need no script, and may fail', () => {
    const it = bench(null, { signals: [{ expression: 'smp.data.voltage / smp.sequence' }] })
    expect(it.one(sample)).toEqual({ ...sample, values: [0.5] })
    expect(it.one({ values: [1] })).toBe('error')
    expect(it.log[0]).toContain('attempt to perform arithmetic on a nil value (field ')
  })
})

describe('mistakes', () => {
  it.each([
    [null, {}, 'it has neither a script nor signals with expressions'],
    [null, { script: 'none.lua' }, 'script: none.lua: ENOENT'],
    ['function process(', {}, /script: \d+\.lua:1: <name> or '...' expected near <eof>/],
    [
      null,
      { signals: [{ expression: '1 +' }] },
      /signals\[0\]: expression: expression:1: unexpected symbol near <eof>/,
    ],
    [null, { signals: [{ expression: '1', type: 'complex' }] }, 'Lua has no complex numbers'],
    [null, { signals: [{ expresion: '1' }] }, 'expression: is missing'],
  ])('%j, %j', (script, settings, message) => {
    expect(() => bench(script, settings)).toThrow(message)
  })

  it('a script that fails when it is started', () => {
    expect(() => bench("require('nowhere')")).toThrow("module 'nowhere' not found")
  })
})
