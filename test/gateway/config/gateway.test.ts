import { describe, expect, it } from 'vitest'
import { commonOfNode, pathText, SignalType, settingsOfNode } from '../../../src/gateway/index.ts'
import { configOf, errorsOf, reading } from './reading.ts'

const nodes = { one: { type: 'loopback' }, two: { type: 'loopback' }, three: { type: 'loopback' } }
const oneToTwo = { in: 'one', out: 'two' }

describe('a configuration', () => {
  it('is plain data with defaults', () => {
    const config = configOf({ nodes: { one: { type: 'loopback' } }, paths: [{ in: 'one' }] })
    expect(structuredClone(config)).toEqual(config)
    expect(config).toMatchObject({
      statsHz: 1,
      affinity: 0,
      idleStop: false,
      logging: { level: 'info', file: null },
      http: { enabled: false, port: 8080, host: '127.0.0.1', token: null, open: false, tls: null },
      nodes: [{ name: 'one', type: 'loopback', enabled: true, initialSequence: 0 }],
      paths: [{ enabled: true, out: [], mode: 'any', mask: null, rateHz: 0, queueLength: 1024, builtin: true }],
    })
    expect(config.nodes[0]!.in).toEqual({ enabled: true, vectorize: 1, signals: null, hooks: [], builtin: true })
  })

  it('has signals as a format string, a count, or a list', () => {
    const signals = (value: unknown) =>
      configOf({ nodes: { one: { type: 'file', signals: value } } }).nodes[0]!.in.signals
    expect(signals('1f1b')).toEqual([
      { name: 'signal0', unit: '', type: SignalType.float },
      { name: 'signal1', unit: '', type: SignalType.boolean },
    ])
    expect(signals({ count: 2, type: 'integer', name: 'u', unit: 'V', init: 3 })).toEqual([
      { name: 'u0', unit: 'V', type: SignalType.integer, init: 3 },
      { name: 'u1', unit: 'V', type: SignalType.integer, init: 3 },
    ])
    expect(signals([{ name: 'p' }, { type: 'complex', init: { real: 1 } }])).toEqual([
      { name: 'p', unit: '', type: SignalType.float },
      { name: 'signal1', unit: '', type: SignalType.complex, init: { real: 1, imag: 0 } },
    ])
  })

  it('leaves what is special in signals to types that read it', () => {
    const node = (type: string) => ({ nodes: { one: { type, in: { signals: [{ name: 'a', amplitude: 2 }] } } } })
    expect(errorsOf(node('signal.v2'))).toEqual([])
    expect(errorsOf(node('file'))).toEqual([
      expect.stringContaining("node one.in.signals[0] has no setting 'amplitude'."),
    ])
  })

  it('leaves signals to types that only VILLASnode has, so that the type is what is wrong', () => {
    expect(errorsOf({ nodes: { one: { type: 'can', in: { signals: [{ can_id: 2 }] } } } })).toEqual([])
  })

  it('takes from a node what a direction does not say itself', () => {
    const settings = {
      type: 'x',
      vectorize: 4,
      hooks: ['ts'],
      builtin: false,
      in: { vectorize: 8 },
      out: { hooks: [] },
    }
    const node = configOf({ nodes: { one: settings } }).nodes[0]!
    expect(node.in).toMatchObject({ vectorize: 8, hooks: [{ type: 'ts' }], builtin: false })
    expect(node.out).toMatchObject({ vectorize: 4, hooks: [], builtin: false })
    expect(commonOfNode(node)).toMatchObject({ name: 'one', vectorize: { in: 8, out: 4 }, signals: null })
  })

  it('gives the type of a node a reader that knows what all nodes have', () => {
    const of = (settings: object) => {
      const reader = settingsOfNode(configOf({ nodes: { one: { type: 'x', vectorize: 2, ...settings } } }).nodes[0]!)
      return () => reader.done()
    }
    expect(of({ enabled: false, in: { hooks: [] }, out: { netem: {} } })).not.toThrow()
    expect(of({ vectorise: 2 })).toThrow("node one has no setting 'vectorise'. Did you mean 'vectorize'?")
    expect(of({ in: { adress: 1 } })).toThrow("node one.in has no setting 'adress'")
  })

  it('makes a second path of reverse', () => {
    const { paths } = configOf({ nodes, paths: [{ ...oneToTwo, reverse: true, mask: ['one'] }] })
    expect(paths.map(pathText)).toEqual(['one → two', 'two → one'])
    expect(paths.map(({ reversed, mask }) => [reversed, mask])).toEqual([
      [false, ['one']],
      [true, ['two']],
    ])
    expect(paths[0]!.uuid).not.toBe(paths[1]!.uuid)
  })

  it('does not start a path of a node that is not enabled, and says so', () => {
    const found = { nodes: { ...nodes, two: { type: 'loopback', enabled: false } }, paths: [oneToTwo] }
    expect(configOf(found).paths[0]!.enabled).toBe(false)
  })

  it('says what it ignores, and what it changes', async () => {
    const { readGateway } = await import('../../../src/gateway/index.ts')
    const found = reading()
    const settings = {
      hugepages: 100,
      priority: 50,
      logging: { level: 'warn', syslog: true },
      nodes: { one: { type: 'loopback', samplelen: 4, out: { netem: { delay: 1 } } } },
      paths: [{ in: 'one', queuelen: 100 }],
    }
    const config = readGateway(found, settings)
    expect(found.errors).toEqual([])
    expect(found.notices.map(({ key }) => key).sort()).toEqual([
      'hugepages',
      'netem',
      'priority',
      'queuelen',
      'samplelen',
      'syslog',
    ])
    expect(found.notices.find(({ key }) => key === 'queuelen')!.what).toBe(
      'queuelen is 128 instead of 100: it has to be a power of 2',
    )
    expect(config.paths[0]!.queueLength).toBe(128)
    expect(config.logging.level).toBe('warning')
  })
})

describe('mistakes', () => {
  it.each<[string, object, string | RegExp]>([
    ['unknown key', { idlestop: true }, "the configuration has no setting 'idlestop'. Did you mean 'idle_stop'?"],
    [
      'unknown keys',
      { idlestop: true, opcua_config: 1, nods: {} },
      /configuration has no settings 'idlestop', 'opcua_config', 'nods'\. For 'idlestop', did you mean 'idle_stop'\? For 'nods', did you mean 'nodes'\? It has: /,
    ],
    [
      'wrong value',
      { stats: 'fast' },
      /the configuration: stats: "fast" is not valid. Expected a number from 0 to 1000/,
    ],
    [
      'level',
      { logging: { level: 'loud' } },
      /the configuration.logging: level: "loud" is not valid. Expected one of "trace"/,
    ],
    ['uuid', { uuid: 'x' }, /uuid: "x" is not valid. Expected a UUID/],
    ['nodes', { nodes: [] }, /nodes: \[\] is not valid. Expected a group/],
    ['name of a node', { nodes: { A: { type: 'x' } } }, /'A' is no name of a node. Expected 2 to 32 of a-z/],
    ['type of a node', { nodes: { one: {} } }, /node one: type: is missing. Expected a string/],
    [
      'vectorize',
      { nodes: { one: { type: 'x', vectorize: 0 } } },
      /node one: .*vectorize: 0 is not valid. Expected a whole/,
    ],
    ['signals', { nodes: { one: { type: 'x', signals: '8q' } } }, /node one.signals: '8q' does not describe signals/],
    [
      'count',
      { nodes: { one: { type: 'x', signals: { type: 'float' } } } },
      /node one.signals: count: is missing|count: 0/,
    ],
    ['type of a signal', { nodes: { one: { type: 'x', signals: [{ type: 'double' }] } } }, /Expected one of "float"/],
    ['init', { nodes: { one: { type: 'x', signals: [{ type: 'boolean', init: 1 }] } } }, /init: 1 is not valid/],
    [
      'hooks',
      { nodes: { one: { type: 'x', hooks: 'scale' } } },
      /node one: .*hooks: "scale" is not valid. Expected a list/,
    ],
    ['paths', { paths: { in: 'one' } }, /paths: .* is not valid. Expected a list of paths/],
    ['no source', { nodes, paths: [{ out: 'one' }] }, /path 0: in: is missing. Expected the name of a node/],
    ['unknown source', { nodes, paths: [{ in: 'onee' }] }, "path 0.in: there is no node 'onee'. Did you mean 'one'?"],
    ['mapping', { nodes, paths: [{ in: 'one.ts.now' }] }, /path 0.in: the mapping 'one.ts.now' is not valid/],
    [
      'unknown destination',
      { nodes, paths: [{ in: 'one', out: 'tow' }] },
      "path 0.out: there is no node 'tow'. Did you mean 'two'?",
    ],
    ['mask', { nodes, paths: [{ ...oneToTwo, mask: ['two'] }] }, /path 0.mask: 'two' is no source of this path/],
    [
      'mode',
      { nodes, paths: [{ ...oneToTwo, mode: 'some' }] },
      /mode: "some" is not valid. Expected one of "any", "all"/,
    ],
    ['poll', { nodes, paths: [{ in: ['one', 'two'], poll: false }] }, /path 0.poll: a path with more than one source/],
    ['poll and rate', { nodes, paths: [{ in: 'one', poll: false, rate: 1 }] }, /path 0.poll: a path with a rate/],
    [
      'reverse',
      { nodes, paths: [{ in: ['one', 'two'], out: 'three', reverse: true }] },
      /path 0.reverse: only a path from one/,
    ],
    ['its own reverse', { nodes, paths: [{ in: 'one', out: 'one', reverse: true }] }, /it is its own reverse/],
    [
      'two paths to a node',
      { nodes, paths: [oneToTwo, { in: 'three', out: 'two' }] },
      /'two' is the destination of another path/,
    ],
    [
      'key of a path',
      { nodes, paths: [{ ...oneToTwo, masks: [] }] },
      "path 0 has no setting 'masks'. Did you mean 'mask'?",
    ],
    [
      'no token',
      { http: { host: '0.0.0.0', no_token: true } },
      'http.no_token: whoever reaches 0.0.0.0 could control the gateway',
    ],
    ['both', { http: { token: 'sixteen-characters', no_token: true } }, 'http: with no_token nobody needs the token'],
    ['FPGAs', { fpgas: {} }, "there is no setting 'fpgas': they are for the node-type fpga, which is not there"],
    ['certificate without key', { http: { ssl_cert: 'a.pem' } }, 'http: ssl_cert and ssl_private_key belong together'],
  ])('%s', (_, settings, message) => {
    const errors = errorsOf(settings as Record<string, unknown>)
    expect(errors).toHaveLength(1)
    expect(errors[0]).toMatch(message)
  })

  it('do not put a token into a message', () => {
    expect(errorsOf({ http: { token: 'hush' } })).toEqual(['http.token: expected at least 16 characters'])
  })

  it('are all found at once', () => {
    const wrong = {
      nodes: { A: { type: 'x' }, one: { type: 'x' } },
      paths: [{ in: 'two' }, { in: 'one', mode: 1 }],
      x: 1,
    }
    expect(errorsOf(wrong)).toHaveLength(4)
  })
})
