import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { mappingText, pathText } from '../../../src/gateway/index.ts'
import { loadConfig, loadText } from '../../../src/gateway/load/index.ts'

const examples = fileURLToPath(new URL('examples/', import.meta.url))
const environment = { BROKER_HOST: 'broker.lab', BROKER_PASSWORD: 'secret' }
const load = (name: string) => loadConfig(join(examples, name), environment)
const short = (text: string | undefined) => text?.replaceAll(examples, '')

const folder = mkdtempSync(join(tmpdir(), 'verbena-config-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** What is thrown for a text in a file of a name. */
function refusal(name: string, text: string): string {
  try {
    loadText({ name: join(folder, name), text }, { SET: 'value' })
  } catch (error) {
    return (error as Error).message.replaceAll(`${folder}/`, '')
  }
  return 'nothing'
}

function settingsOf(name: string, text: string): unknown {
  return loadText({ name: join(folder, name), text }, { SET: 'value', OTHER: '"' }).config.settings
}

describe('examples', () => {
  it('libconfig, in several files', () => {
    const { config, errors, notices, files } = load('lab.conf')
    expect(errors).toEqual([])
    expect(files.map(short)).toEqual(['lab.conf', 'common.conf', 'nodes/socket.conf', 'paths.conf'])
    expect(config).toMatchObject({ name: 'lab-1', affinity: 3, statsHz: 2, http: { enabled: true, port: 8080 } })
    expect(config.nodes.map(({ name }) => name)).toEqual(['simulator', 'device'])
    expect(config.nodes[0]!.in.signals!.map(({ name, unit }) => name + unit)).toEqual([
      'voltageV',
      'frequencyHz',
      'closed',
    ])
    expect(config.paths.map(pathText)).toEqual(['simulator → device', 'device → simulator'])
    expect(config.paths[0]!.hooks[1]!.settings).toEqual({ type: 'print', prefix: 'lab: 1\t' })
    expect(notices.map(({ place, key }) => `${short(place)} ${key}`)).toEqual([
      'nodes/socket.conf:19 netem',
      'common.conf:4 hugepages',
      'common.conf:3 priority',
      'common.conf:11 syslog',
    ])
  })

  it('infiniband, with both spellings of its mode', () => {
    const { config, errors } = load('infiniband.conf')
    expect(errors).toEqual([])
    expect(config.nodes.map(({ type }) => type)).toEqual(['signal', 'file', 'file', 'infiniband', 'infiniband'])
    expect(config.nodes[1]!.settings).toMatchObject({ out: { buffer_size: 500_000_000 } })
    expect(config.nodes[4]!.in.signals).toHaveLength(8)
    expect(config.paths[1]!.in.map(mappingText)).toEqual([
      'ib_target.data[signal0-signal3]',
      'ib_target.hdr.sequence',
      'ib_target.ts.origin',
      'ib_target.stats.owd.mean',
    ])
  })

  it('JSON, with variables and an include', () => {
    const { config, errors, files } = load('broker.json')
    expect(errors).toEqual([])
    expect(config.nodes[1]!.settings).toMatchObject({ host: 'broker.lab', password: 'secret' })
    expect(config.paths.map(({ uuid }) => uuid)[1]).toBe('0dd0d4f0-5d23-4a6e-8bb0-9a3d0e1c7a55')
    expect(files.map(short)).toEqual(['broker.json', 'broker-back.json'])
    // As VILLASnode, so that programs which know a node by its UUID find it: md5 of the gateway's UUID and the name.
    expect(config.nodes[0]!.uuid).toBe('35863520-f0fc-15aa-5a0f-560cb4353cc8')
  })

  it('YAML', () => {
    const { config, errors } = load('replay.yaml')
    expect(errors).toEqual([])
    expect(config).toMatchObject({ http: { port: 0 }, paths: [{ queueLength: 256 }] })
    expect(config.nodes[0]!.in.signals).toMatchObject([{ name: 'sine' }, { name: 'step', init: 1 }])
  })
})

describe('libconfig', () => {
  it.each<[string, unknown]>([
    ['', {}],
    ['a = 1', { a: 1 }],
    ['a = 1 b : 2; c = 3, d = 4\n', { a: 1, b: 2, c: 3, d: 4 }],
    ['a=0x1F b=0X0fL c=-7L d=12LL e=+3 f=0b101 g=0o17', { a: 31, b: 15, c: -7, d: 12, e: 3, f: 5, g: 15 }],
    ['a=1.5 b=.5 c=2. d=1e3 e=-1.5E-3', { a: 1.5, b: 0.5, c: 2, d: 1000, e: -0.0015 }],
    ['a=true b=FALSE c=True', { a: true, b: false, c: true }],
    ['a="x" "y"\n "z" b=""', { a: 'xyz', b: '' }],
    [String.raw`a="\"\\\n\t\x41\q"`, { a: '"\\\n\tA\\q' }],
    [
      'a=[1,2,3,] b=[] c=["x","y"] d=(1,"x",[true],(),{e=1})',
      { a: [1, 2, 3], b: [], c: ['x', 'y'], d: [1, 'x', [true], [], { e: 1 }] },
    ],
    ['a={b={c=1;};};', { a: { b: { c: 1 } } }],
    ['# x\na=1 // y\n/* z\n\n*/ b=2 #', { a: 1, b: 2 }],
    ['a-b_c*=1', { 'a-b_c*': 1 }],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the environment
    ['\ufeffa="${SET}/${SET} $SET ${}"', { a: 'value/value $SET ${}' }],
  ])('%s', (text, settings) => {
    expect(settingsOf('x.conf', text)).toEqual(settings)
  })

  it.each([
    ['a = ', 'x.conf:1: expected a value, found the end of the file'],
    ['a = 1\nb = yes', 'x.conf:2: strings need quotes: "yes"'],
    ['a 1', "x.conf:1: expected '=' or ':' behind 'a', found 1"],
    ['a = 1\n\n= 2', "x.conf:3: expected the name of a setting, found '='"],
    ['a = {\n b = 1\n', 'x.conf:1: this group has no end: }'],
    ['a = (\n 1, ', 'x.conf:1: this list has no end: )'],
    ['a = (1 2)', "x.conf:1: expected ',' or ')', found 2"],
    ['a = [{}]', 'x.conf:1: an array [ ] has numbers, booleans or strings; a list of groups or lists is ( )'],
    ['a = [1, "x"]', 'x.conf:1: the values of an array [ ] are of one type; a list of several is ( )'],
    ['a = 1\na = 2', "x.conf:2: 'a' is there twice; first: x.conf:1"],
    ['a = "x\ny', 'x.conf:1: this string has no end: "'],
    ['a = "x\\', 'x.conf:1: this string has no end: "'],
    ['a = 1 /* x', 'x.conf:1: this comment has no end: */'],
    ['a = 1\n$', "x.conf:2: '$' means nothing here"],
    ['a = 12abc', 'x.conf:1: \'12abc\' is no number; strings need quotes: "12abc"'],
    ['a = 127.0.0.1:80', 'x.conf:1: \'127.0.0.1\' is no number; strings need quotes: "127.0.0.1"'],
    [
      'a = 0xFFFFFFFFFFFFFFFF',
      'x.conf:1: 0xFFFFFFFFFFFFFFFF is too large: whole numbers are exact up to 9007199254740991',
    ],
    ['@include nodes', 'x.conf:1: only @include begins with @, for example: @include "nodes.conf"'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the environment
    ['a = "${UNSET}"', 'x.conf:1: the environment has no variable UNSET'],
    ['\n@include "none.conf"', 'x.conf:2: @include "none.conf" names no file. Looked for: none.conf'],
    [`a = ${'('.repeat(70)}`, 'x.conf:1: groups and lists are nested more than 64 deep'],
  ])('%s is refused', (text, message) => {
    expect(refusal('x.conf', text)).toBe(message)
  })

  it('includes files by a pattern, in order, in place; their settings have places of their own', () => {
    writeFileSync(join(folder, 'part-b.conf'), 'bb = { type = "x" }')
    writeFileSync(join(folder, 'part-a.conf'), '\na = { type = "x", vectorize = 0 }')
    const text = 'nodes = {\n@include "part-*.conf"\n}\nstats = -1'
    const { config, errors } = loadText({ name: join(folder, 'main.conf'), text }, {})
    expect(config.nodes.map(({ name }) => name)).toEqual(['bb'])
    expect(errors.map(({ message }) => message.replaceAll(`${folder}/`, ''))).toEqual([
      expect.stringMatching(/^part-a.conf:2: 'a' is no name of a node/),
      expect.stringMatching(/^main.conf:4: the configuration: stats: -1 is not valid/),
    ])
  })

  it('ends files that include themselves', () => {
    writeFileSync(join(folder, 'self.conf'), 'a = (1)\n@include "self.conf"\n@include "self.conf"')
    expect(refusal('self.conf', '@include "self.conf"')).toMatch(/'a' is there twice|include each other/)
    writeFileSync(join(folder, 'twice.conf'), '@include "twice.conf"\n@include "twice.conf"')
    expect(refusal('twice.conf', '@include "twice.conf"')).toContain('more than ten files include each other')
    writeFileSync(join(folder, 'self.json'), '{"nodes":"@include self.json"}')
    expect(refusal('self.json', '{"nodes":"@include self.json"}')).toContain('does one include itself?')
  })
})

describe('JSON', () => {
  it('is what JSON.parse reads', () => {
    const value = { a: [1, -2.5e3, true, null, 'x\n"\u00e9', {}], b: { c: [] } }
    expect(settingsOf('x.json', JSON.stringify(value, null, 2))).toEqual(value)
    expect(settingsOf('x', ` ${JSON.stringify(value)}`)).toEqual(value)
  })

  it.each([
    ['{"a":1,}', "x.json:1: nothing follows the ',' before '}', found '}'"],
    ['{"a":1\n"b":2}', "x.json:2: expected ',' or '}', found '\"'"],
    ['{"a":1,\n"a":2}', 'x.json:2: "a" is there twice; first: x.json:1'],
    ['{a:1}', "x.json:1: expected a key in quotes, found 'a'"],
    ['{"a" 1}', "x.json:1: expected ':' behind \"a\", found '1'"],
    ['{"a":[1,\n2', 'x.json:1: what begins here has no end: ]'],
    ['{"a":"\\q"}', 'x.json:1: "\\q" is no JSON'],
    ['{"a":truth}', "x.json:1: expected a value, found 'truth'"],
    ['{} {}', "x.json:1: expected the end of the file, found '{'"],
    ['{"__proto__":1}', 'x.json:1: "__proto__" is no name of a setting'],
    ['[]', 'x.json: a configuration is a group of settings, such as nodes and paths'],
  ])('%s is refused', (text, message) => {
    expect(refusal('x.json', text)).toContain(message)
  })
})

describe('YAML', () => {
  it.each([
    ['a: 1\nb: [', 'x.yaml:2: '],
    ['a: &x 1\nb: *x', 'x.yaml:2: aliases (*) are not read; write the value once more'],
    ['a: 1\na: 2', 'x.yaml:2: '],
    ['? [a]\n: 1', 'x.yaml:1: the name of a setting is a word'],
    ['- 1', 'x.yaml: a configuration is a group of settings'],
  ])('%s is refused', (text, message) => {
    expect(refusal('x.yaml', text)).toContain(message)
  })

  it('that is nested too deep is refused', () => {
    expect(refusal('x.yaml', '['.repeat(20_000))).toContain('x.yaml')
  })

  it('has lines', () => {
    const { errors } = loadText({ name: 'x.yaml', text: 'stats: 1\nnodes:\n  one:\n    typ: x\n' }, {})
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^x.yaml:4: node one: type: is missing/),
    ])
  })
})

it('a file that cannot be read is an error that names it', () => {
  expect(() => loadConfig('/nonexistent/x.conf', {})).toThrow('/nonexistent/x.conf: there is no such file')
  expect(() => loadConfig(folder, {})).toThrow(`${folder}: this is a folder`)
})
