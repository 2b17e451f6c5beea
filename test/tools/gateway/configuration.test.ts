/** `verbena gateway check` and `graph`. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { peerPackage } from '../../../src/gateway/host/index.ts'
import type { NodeType } from '../../../src/gateway/index.ts'
import { nodeTypes } from '../../../src/gateway/nodes/registry.ts'
import { mistakesOf, readConfiguration } from '../../../src/tools/gateway/configuration.ts'
import { verbena } from '../../cli/in-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-check-'))
afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

const run = async (...args: string[]) => {
  const { code, stdout, stderr } = await verbena('gateway', ...args)
  return { code, stdout: stdout.replaceAll(`${folder}/`, ''), stderr: stderr.replaceAll(`${folder}/`, '') }
}

const sound = file(
  'sound.conf',
  `hugepages = 100
nodes = { source = { type = "signal", signal = "sine", rate = 10.0, values = 2 }, loop = { type = "loopback" } }
paths = ( { in = "source", out = "loop", hooks = ( { type = "scale", scale = 2.0, signal = "sine" } ) } )`,
)
const wrong = file(
  'wrong.conf',
  `idlestop = true
nodes = {
  source = { type = "signal", rat = 10.0 }
  loop = { type = "lopback" }
}
paths = ( { in = "source", out = "lop" } )`,
)

it('says that a configuration is right, and what of it has no effect', async () => {
  const { code, stdout, stderr } = await run('check', '-c', '-D', sound)
  expect([code, stdout]).toEqual([0, 'sound.conf: 2 nodes, 1 path; no mistakes\n'])
  expect(stderr).toMatch(/^sound.conf:1: hugepages has no effect: .*\nsound.conf:2: nobody reads node loop: .* lost\n$/)
})

it('names all mistakes, those of types included, with file, line and key', async () => {
  const { code, stdout, stderr } = await run('check', wrong)
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr.split('\n')).toEqual([
    expect.stringMatching(/^wrong.conf:6: path 0.out: there is no node 'lop'. Did you mean 'loop'\?$/),
    expect.stringMatching(/^wrong.conf:1: the configuration has no setting 'idlestop'. Did you mean 'idle_stop'\?/),
    expect.stringMatching(/^wrong.conf:3: node source has no setting 'rat'. Did you mean 'rate'\?/),
    expect.stringMatching(/^wrong.conf:4: node loop: there is no type of node 'lopback'. Did you mean 'loopback'\?/),
    'wrong.conf: 4 mistakes',
    '',
  ])
})

it('says of what only VILLASnode has what to use instead', async () => {
  const nodes = {
    bus: { type: 'can', in: { signals: [{ name: 'u', can_id: 2 }] } },
    queue: { type: 'nanomsg' },
    log: { type: 'file', uri: 'x', format: 'json.reserve' },
    far: { type: 'file', uri: 'ftp://somewhere/x' },
    memory: { type: 'shmem', polling: true, in: { name: 'a' } },
  }
  const { code, stderr } = await run('check', file('only.json', JSON.stringify({ nodes })))
  expect(code).toBe(1)
  for (const what of [
    "node bus: the node-type can is not there: it needs Linux's SocketCAN. Leave it to a VILLASnode and join",
    'node queue: the node-type nanomsg is not there: no library for it is kept any more',
    'format: the format json.reserve is not there: it is the dialect of one project',
    "uri: 'ftp://somewhere/x' is on another machine",
    'VILLASnode has mode = "polling" now',
  ])
    expect(stderr).toContain(what)
})

it('finds what only the whole shows: hooks, signals of mappings', async () => {
  const text = (path: string) =>
    `nodes = { loop = { type = "loopback", signals = "2f" } }\npaths = ( { in = ${path} } )`
  const unknown = await run('check', file('a.conf', text('"loop", hooks = ( "scal" )')))
  expect(unknown.stderr).toMatch(/scal/)
  const mapping = await run('check', file('b.conf', text('"loop.signal7"')))
  expect(mapping.stderr).toMatch(/node 'loop' has no signal 'signal7'/)
  expect([unknown.code, mapping.code]).toEqual([1, 1])
})

it.each([
  [
    'udp',
    { type: 'socket', format: 'villas.binary', out: { address: '127.0.0.1:12000' } },
    'b',
    'villas.binary carries floats and integers only',
  ],
  [
    'udp',
    { type: 'socket', format: { type: 'raw', bits: 16 }, out: { address: '127.0.0.1:12000' } },
    'f',
    'raw with 16 bits carries integers and booleans only',
  ],
  ['log', { type: 'file', uri: 'x', format: 'villas.web' }, 'c', 'villas.web carries floats and integers only'],
  ['run', { type: 'exec', exec: ['cat'], format: 'villas.web' }, 'c', 'villas.web carries floats and integers only'],
  ['web', { type: 'websocket' }, 'c', 'villas.web carries floats and integers only'],
  [
    'far',
    { type: 'infiniband', rdma_transport_mode: 'UD', in: { address: '127.0.0.1:1337' } },
    '510f',
    'there are 510: use RC or UC',
  ],
  ['far', { type: 'infiniband', rdma_transport_mode: 'UD', in: { address: '127.0.0.1:1337' } }, '509f', undefined],
])('finds what would not start, or never work: %s %j with %s', async (name, node, signals, what) => {
  const settings = { nodes: { from: { type: 'loopback', signals }, [name]: node }, paths: [{ in: 'from', out: name }] }
  const { code, stderr } = await run('check', file('start.json', JSON.stringify(settings, null, 1)))
  if (what === undefined) expect([code, stderr]).toEqual([0, ''])
  else {
    expect(code).toBe(1)
    expect(stderr).toMatch(/^start\.json:\d+: /)
    expect(stderr).toContain(what)
  }
})

it('says which package is missing, with its place', async () => {
  const name = 'no-such-client'
  const needs = () => peerPackage('the node-type probe', `${name}@1`, () => import(/* @vite-ignore */ name))
  const probe: NodeType = {
    name: 'probe',
    is: '',
    parse: () => ({ signals: null, reads: true, writes: true, splits: false, needs, start: () => needs() as never }),
  }
  const types = nodeTypes as Record<string, () => Promise<NodeType>>
  types.probe = async () => probe
  try {
    const path = file('needs.conf', 'nodes = {\n  far = { type = "probe" }\n}')
    const mistakes = await mistakesOf(readConfiguration(path))
    expect(mistakes.map((mistake) => mistake.replace(`${folder}/`, ''))).toEqual([
      'needs.conf:2: node far: the node-type probe needs the package no-such-client, which is not installed: npm install no-such-client@1',
    ])
  } finally {
    delete types.probe
  }
})

it('prints JSON, also for what cannot be read', async () => {
  const { code, stdout } = await run('check', '--json', file('x.json', '{"nodes":'))
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toEqual({
    valid: false,
    nodes: 0,
    paths: 0,
    errors: ['x.json:1: expected a value, found the end of the file'],
    notices: [],
    files: [],
  })
  const right = JSON.parse((await run('check', '--json', sound)).stdout)
  expect(right).toMatchObject({
    valid: true,
    nodes: 2,
    errors: [],
    notices: [
      { place: 'sound.conf:1', key: 'hugepages' },
      { place: 'sound.conf:2', key: 'type' },
    ],
  })
})

it('draws', async () => {
  expect((await run('graph', sound)).stdout).toBe('path 0: source (signal) ─→ [scale] ─→ loop (loopback)\n')
  const svg = join(folder, 'picture.svg')
  expect((await run('graph', sound, '-o', svg)).stdout).toBe('wrote picture.svg\n')
  expect(readFileSync(svg, 'utf8')).toMatch(/^<svg [\s\S]*>source<[\s\S]*<\/svg>\n$/)
  expect((await run('graph', sound, '-f', 'dot')).stdout).toMatch(/^digraph gateway \{/)
  expect(JSON.parse((await run('graph', sound, '--json')).stdout).paths[0].lines).toEqual(['scale'])
})

it('does not draw what is wrong', async () => {
  expect(await run('graph', wrong)).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('wrong.conf:6: path 0.out'),
  })
  expect(await run('graph', sound, '-f', 'png')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--format: 'png'"),
  })
})
