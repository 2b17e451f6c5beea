/** Configurations in files: what they may hold, and what is said of each mistake. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { Cdf, type TrafficConfig } from '../../src/traffic/index.ts'
import { jsonSchema, loadTraffic, readTraffic } from '../../src/traffic/load/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-traffic-'))
afterAll(() => rmSync(folder, { recursive: true }))

const read = (text: string, overrides = {}): TrafficConfig => readTraffic(text, join(folder, 'x.yaml'), overrides)

/** What is wrong, without the folder. */
function mistakes(text: string, overrides = {}): string[] {
  try {
    read(text, overrides)
  } catch (error) {
    expect(error).toMatchObject({ name: 'TrafficError' })
    return (error as Error).message.replaceAll(`${folder}/`, '').split('\n')
  }
  return []
}

describe('a configuration', () => {
  it('has defaults for all but the servers', () => {
    const config = read('servers: [a]')
    expect(config).toMatchObject({ seed: 1, count: null, durationNs: 10e9, bandwidthBps: 10e9, flow: 'reply', qps: 1 })
    expect(config.servers).toEqual([{ host: 'a', port: 18515, rack: '', weight: 1 }])
    expect(config.phases[0]).toMatchObject({ load: 0.1, verbs: [{ verb: 'send' }], types: [{ value: 'RC' }] })
  })

  it('reads addresses with ports, in brackets, and as groups', () => {
    const { servers } = read('servers: ["10.0.0.2:7", "[fe80::1]:8", h, {host: "::1", port: 9, rack: r, weight: 2}]')
    expect(servers.map(({ host, port }) => `${host} ${port}`)).toEqual(['10.0.0.2 7', 'fe80::1 8', 'h 18515', '::1 9'])
  })

  it('has what is given in all phases, in the place of what they have of their own', () => {
    const text = `servers: [a]
requests: 5/s
phases:
- { duration: 1s, load: 0.1, size: 64 }
- { duration: 2s, requests: 10/s }
- { duration: 3s }`
    const { phases, seed, durationNs } = read(text, { load: 0.8, seed: 7, duration: 4 })
    expect(phases.map(({ load, requestsPerSecond }) => [load, requestsPerSecond])).toEqual([
      [0.8, null],
      [0.8, null],
      [0.8, null],
    ])
    expect(phases.map((phase) => phase.durationNs)).toEqual([1e9, 2e9, 3e9])
    expect([seed, durationNs, phases[0]!.sizes]).toEqual([7, 4e9, [{ value: 64, weight: 1 }]])
    const asked = read(text, { requests: 20 }).phases
    expect(asked.map(({ load, requestsPerSecond }) => [load, requestsPerSecond])).toEqual([
      [null, 20],
      [null, 20],
      [null, 20],
    ])
    expect(mistakes('servers: [a]\nphases: [3, { duration: 1 }]', { load: 0.8 })[0]).toMatch(/^x\.yaml:2: phases\.0: /)
  })

  it('reads all forms of sizes', () => {
    writeFileSync(join(folder, 'own.txt'), '0 0\n100 1\n')
    const sizes = (text: string) => read(`servers: [a]\nsize: ${text}`).phases[0]!.sizes
    expect(sizes('4096')).toEqual([{ value: 4096, weight: 1 }])
    expect(sizes('64KiB')).toEqual([{ value: 65536, weight: 1 }])
    expect(sizes('{4KiB: 70, WebSearch: 30}')).toMatchObject([{ value: 4096, weight: 70 }, { weight: 30 }])
    expect((sizes('{cdf: own.txt, unit: 1460}')[0]!.value as Cdf).mean).toBe(73_000)
    for (const text of ['own.txt', '{cdf: own.txt, interpolation: log}', '{points: [[0, 0], [100, 1]]}'])
      expect((sizes(text)[0]!.value as Cdf).mean).toBe(50)
    expect(sizes('{cdf: own.txt, interpolation: log}')[0]!.value).toMatchObject({ interpolation: 'log' })
    expect(sizes('webSEARCH')[0]!.value).toBeInstanceOf(Cdf)
  })

  it('gives way to what the command line says', () => {
    expect(read('servers: [a]\nrequests: 5k/s', { load: 0.3, seed: 9, count: 4 })).toMatchObject({
      seed: 9,
      count: 4,
      phases: [{ load: 0.3, requestsPerSecond: null }],
    })
  })

  it.each([
    ['siz: 3', ["x.yaml:2: siz: there is no such key. Did you mean 'size'?"]],
    ['verbs: {sendd: 3}', ["x.yaml:2: verbs.sendd: there is no such key. Did you mean 'send'?"]],
    [
      'verbs:\n  read:\n    weight: 3\n    rat: 5',
      ["x.yaml:5: verbs.read.rat: there is no such key. Did you mean 'rate'?"],
    ],
    ['arrival: poison', ["x.yaml:2: arrival: 'poison' is not valid. Did you mean 'poisson'?"]],
    ['arrival: {type: lognormal, sigm: 2}', ["x.yaml:2: arrival.sigm: there is no such key. Did you mean 'sigma'?"]],
    ['qps: 0', ['x.yaml:2: qps: 0 is not valid. Expected at least 1']],
    ['size: true', ['x.yaml:2: size: true is not valid. Expected a number, text or a group of keys']],
    ['load: x', ["x.yaml:2: load: 'x' is not valid. Expected a number"]],
    ['size: WebSerch', ["x.yaml:2: size: 'WebSerch' is neither a preset nor a file. Did you mean 'WebSearch'?"]],
    ['size: {points: [[5, 0.2], [3, 1]]}', ['x.yaml:2: size: points: sizes fall: 3 after 5']],
    ['types: UD\nverbs: {read: 1, send: 1}', [/^x\.yaml:3: verbs: 100 % of the requests are to be UD/]],
    ['dscp: {70: 3}', ["x.yaml:2: dscp.70: '70' is not a whole number from 0 to 63"]],
    ['dscp: {1: 0}', ['x.yaml:2: dscp: all weights are 0']],
    ['load: 1\nrequests: 4', ['x.yaml:3: requests: load and requests exclude each other']],
    ['duration: 5 parsecs', ["x.yaml:2: duration: '5 parsecs' is not a time such as 10ms"]],
    ['destinations: {hotspot: z, share: 0.5}', [/^x\.yaml:2: destinations\.hotspot: 'z' is none of the servers/]],
    ['collective: {name: halving-doubling, size: 1MiB}', [/^x\.yaml:2: collective\.name: .*at least two ranks/]],
    ['phases:\n- load: 1\n- size: 4', ['x.yaml:3: phases.0.duration: only the last phase may go on without end']],
    ['faults: {loss: 2}', [/^x\.yaml:2: faults\.loss: /]],
    ['client: 4\nclients: 4', ['x.yaml:2: client: there are 4 clients, 0 to 3']],
    ['qps: 0\nsead: 4', [/qps/, /sead: .*'seed'/]],
    ['size: WebSerch\nlaod: 0.5', [/^x\.yaml:3: laod: .*'load'/, /^x\.yaml:2: size: 'WebSerch' .*'WebSearch'/]],
    ['verbs: {sendd: 3}\nduration: soon', [/^x\.yaml:2: verbs\.sendd: /, /^x\.yaml:3: duration: 'soon'/]],
    ['phases:\n- {duration: [1], size: 4}\n- {size: WebSerch}', [/^x\.yaml:3: phases\.0\.duration/, /^x\.yaml:4: phases\.1\.size: 'WebSerch'/]], // biome-ignore format: row
    ['phases: [3, {sise: 4}]\nsize: WebSerch', [/phases\.0: /, /phases\.1\.sise/, /^x\.yaml:3: size/]],
    [
      'size: {points: [[64, 0], [1024, 50], [2048, 100]]}',
      ['x.yaml:2: size.points.1.1: shares are from 0 to 1; per cent is possible in a file'],
    ],
    ['size: {cdf: WebSearch, unit: 1460}', [/^x\.yaml:2: size: 'WebSearch' is a preset, whose sizes are bytes/]],
    ['size: {cdf: own.txt, unit: big}', ["x.yaml:2: size.unit: 'big' is not a size such as 1460"]],
  ])('%j: every mistake with its line and key', (text, expected) => {
    const found = mistakes(`servers: [a]\n${text}`)
    expect(found).toHaveLength(expected.length)
    for (const [i, what] of expected.entries())
      if (typeof what === 'string') expect(found[i]).toBe(what)
      else expect(found[i]).toMatch(what)
  })

  it.each([
    ['seed: 3', 'x.yaml: servers: it is missing'],
    ['- a', 'x.yaml: a configuration is a group of keys, such as servers and size'],
    ['', 'x.yaml: a configuration is a group of keys, such as servers and size'],
    ['2\n3 1 3 100 20000 2.0\n1 2 3 100 400 2.1\n', /^x\.yaml: this looks like a list of flows, and none is taken: /],
    ['Nodes 4\nConnections 2\n3->1 start 0 size 2000\n', /^x\.yaml: this looks like a list of flows/],
    ['{"time":4,"size":8}\n{"time":9,"size":8}\n', /^x\.yaml: this looks like a list of flows/],
    ['servers: []', /^x\.yaml:1: servers: too small/],
    ['servers: [a, "b:99999"]', /^x\.yaml:1: servers\.1: 'b:99999' is no address/],
    ['a: [', /^x\.yaml:1: /],
    ['a: &x [*x, *x]', /^x\.yaml/],
    ['[[[[[[[['.repeat(3000), /^x\.yaml/],
  ])('%#: what is none at all', (text, message) => {
    const [found] = mistakes(text)
    if (typeof message === 'string') expect(found).toBe(message)
    else expect(found).toMatch(message)
  })

  it('says of an option that it, and no line, is wrong', () => {
    expect(mistakes('servers: [a]', { bandwidth: 'much' })).toEqual(["bandwidth: 'much' is not a rate such as 10Gbps"])
  })
})

describe("the text of HKUST's TrafficGenerator", () => {
  const original = `server 192.168.1.51 5001
server 192.168.1.52 5001
# comment
req_size_dist conf/DCTCP_CDF.txt
rate 0Mbps 10
rate 500Mbps 30
dscp 0 25
dscp 1 75
fanout 1 10
fanout 8 20
`

  it('is read as it is, files of distributions beside it', () => {
    const path = join(folder, 'incast_client_config.txt')
    writeFileSync(join(folder, 'DCTCP_CDF.txt'), '0 0\n10000 0.15\n30000000 1\n')
    writeFileSync(path, original.replace('conf/', ''))
    const config = loadTraffic(path)
    expect(config.servers.map(({ host, port }) => `${host}:${port}`)).toEqual([
      '192.168.1.51:5001',
      '192.168.1.52:5001',
    ])
    expect(config.phases[0]).toMatchObject({
      rates: [{ value: 0, weight: 10 }, { value: 5e8, weight: 30 }], // biome-ignore format: row
      dscps: [{ value: 0, weight: 25 }, { value: 1, weight: 75 }], // biome-ignore format: row
      fanouts: [{ value: 1, weight: 10 }, { value: 8, weight: 20 }], // biome-ignore format: row
      fanoutSize: 'split',
    })
    expect((config.phases[0]!.sizes[0]!.value as Cdf).max).toBe(30_000_000)
  })

  it('has load and num_reqs of the older client', () => {
    expect(read('server a 5001\nreq_size_dist WebSearch\nload 500Mbps\nnum_reqs 1500')).toMatchObject({
      count: 1500,
      bandwidthBps: 5e8,
      phases: [{ load: 1 }],
    })
  })

  it('has what follows the values on a line looked at by nobody, as there', () => {
    const text = `server a 5001 1 spare
req_size_dist WebSearch of 2010
rate 500Mbps 30 slow
dscp 1 25 0
fanout 8 20 0
load 500Mbps now
num_reqs 1500 0`
    const config = read(text)
    expect(config).toMatchObject({ count: 1500, bandwidthBps: 5e8, servers: [{ host: 'a', port: 5001, rack: '' }] })
    expect(config.phases[0]).toMatchObject({ rates: [{ value: 5e8 }], dscps: [{ value: 1 }], fanouts: [{ value: 8 }] })
  })

  it('has all lines told that are wrong', () => {
    expect(mistakes('server a 5001\nsped 5\nrate 5xbps 3')).toEqual([
      expect.stringMatching(/^x\.yaml:2: sped: /),
      expect.stringMatching(/^x\.yaml:3: rate: /),
    ])
  })

  it.each([
    [
      'server a 5001x',
      "x.yaml:1: server: 'a 5001x' is not valid. Expected a host and a port, for example: server 192.168.1.51 5001",
    ],
    [
      'server a 5001\nrate 5xbps 3',
      "x.yaml:2: rate: '5xbps 3' is not valid. Expected a rate and a weight, for example: rate 500Mbps 30",
    ],
    ['server a 5001\nspeed 5', 'x.yaml:2: speed: there is no such key; there are server, req_size_dist, rate'],
    ['server a 5001\n\ndscp 64 1', "x.yaml:3: dscp.64: '64' is not a whole number from 0 to 63"],
    ['server a 5001\nreq_size_dist gone.txt', "x.yaml:2: size: 'gone.txt' is neither a preset nor a file"],
    ['server a 99999', /^x\.yaml:1: servers\.0.port: /],
  ])('%j is refused', (text, message) => {
    const [found] = mistakes(text)
    if (typeof message === 'string') expect(found).toContain(message)
    else expect(found).toMatch(message)
  })
})

it('the schema for editors knows every key, and says what it is', () => {
  const { properties } = jsonSchema() as { properties: Record<string, { description?: string }> }
  for (const key of ['servers', 'size', 'verbs', 'types', 'arrival', 'fanout', 'phases', 'faults', 'collective'])
    expect(properties[key], key).toBeDefined()
  expect(JSON.stringify(properties.verbs)).toContain('write_with_imm')
  expect(properties.size!.description).toMatch(/preset/)
})
