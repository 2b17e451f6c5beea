/** `verbena gateway hook`: what goes in and what comes out; VILLASnode's integration tests are some of the cases. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadHookTypes } from '../../../src/gateway/host/index.ts'
import { hookTypes } from '../../../src/gateway/index.ts'
import { settingsOf } from '../../../src/tools/gateway/hook.ts'
import { command } from '../../built.ts'
import { verbena } from '../../cli/in-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-hook-'))
afterAll(() => rmSync(folder, { recursive: true }))

const plain = '{"type":"villas.human","offset":false,"header":false,"real_precision":1}'

async function hook(input: string, ...args: string[]) {
  const child = spawn(process.execPath, [command, 'gateway', 'hook', ...args], {
    timeout: 60_000,
    killSignal: 'SIGKILL',
  })
  const seen = { stdout: '', stderr: '' }
  child.stdout.setEncoding('latin1').on('data', (text: string) => (seen.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (seen.stderr += text))
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const [code] = (await once(child, 'close')) as [number]
  return { code, ...seen }
}

describe.concurrent('samples', () => {
  const lines = Array.from({ length: 6 }, (_, i) => `${i + 1}.000000000(${i})\t${i}.0\t${-i}.0\n`)

  it('go through the hook; its settings are from options and a file', async () => {
    const file = join(folder, 'scale.json')
    writeFileSync(file, '{"signal":"signal1","scale":2,"offset":7}')
    const result = await hook(lines.join(''), 'scale', '-c', file, '-o', 'offset=0.5', '-t', '2f', '-F', plain)
    const scaled = lines.map((line, i) => line.replace(/\S+$/m, (-2 * i + 0.5).toFixed(1)))
    expect(result).toEqual({ code: 0, stdout: scaled.join(''), stderr: '' })
  })

  it('what is held back comes at the end, in batches of any size', async () => {
    const args = ['reorder_ts', '-o', 'window_size=4', '-t', '2f', '-F', plain]
    const order = [1, 0, 2, 4, 5, 3].map((i) => lines[i]).join('')
    for (const batch of ['1', '3', '100'])
      expect(await hook(order, ...args, '-v', batch)).toEqual({ code: 0, stdout: lines.join(''), stderr: '' })
  })

  it('were received when they were read; the header has the signals of the hook', async () => {
    const { stdout } = await hook(
      '1.0(3)\t1\n',
      'cast',
      '-t',
      'f',
      '-o',
      'signal=0',
      '-o',
      'new_name=u',
      '-o',
      'new_type=integer',
    )
    expect(stdout).toMatch(/^# seconds\.nanoseconds\+offset\(sequence\)\tu\n1\.000000000\+1\.\d+e\+09\(3\)\t1\n$/)
  })

  it('that are malformed, or lack what the hook needs, are said', async () => {
    const result = await hook(
      '1.0(1)\t1\t2\n1.0(2)\t1\nx\n',
      'average',
      '-t',
      '2f',
      '-F',
      plain,
      '-o',
      'signals=0,1',
      '-o',
      'offset=2',
    )
    expect(result).toEqual({
      code: 1,
      stdout: '1.000000000(1)\t1.0\t2.0\t1.5\n',
      stderr:
        'The input is malformed in one place:\n  line 3 (byte 20): it does not begin with seconds\n' +
        'One sample could not be processed: values or fields are missing.\n',
    })
  })

  it('frames, then digests to a file', async () => {
    const framed = await hook(
      lines.join(''),
      'frame',
      '-t',
      '2f',
      '-F',
      plain,
      '-o',
      'trigger=sequence',
      '-o',
      'interval=2',
    )
    expect(framed.stdout.match(/\)F/g)).toHaveLength(3)
    const file = join(folder, 'digest')
    await hook(framed.stdout, 'digest', '-t', '2f', '-o', 'algorithm=sha512', '-o', `uri=${file}`)
    expect(readFileSync(file, 'utf8')).toMatch(
      /^1\.000000000-0 2\.000000000-1 sha512 [0-9A-F]{128}\n3\.000000000-2 4\.000000000-3 sha512 [0-9A-F]{128}\n$/,
    )
  })

  it('go through a module', async () => {
    const path = fileURLToPath(new URL('../../../examples/gateway-hook.mjs', import.meta.url))
    const args = ['module', '-o', `path=${path}`, '-o', 'signals=signal0', '-o', 'band=1.5', '-t', '2f', '-F', plain]
    expect(await hook(lines.join(''), ...args)).toEqual({
      code: 0,
      stdout: lines[0]! + lines[2] + lines[4],
      stderr: '',
    })
  })
})

it('print writes to standard output, too', async () => {
  const { stdout } = await hook(
    '1.5(3)\t1\n',
    'print',
    '-t',
    'f',
    '-F',
    plain,
    '-o',
    'format.type=value',
    '-o',
    'format.real_precision=2',
  )
  expect(stdout).toBe('standard input 1.00\n1.000000005(3)\t1.0\n')
})

it('-o: JSON, lists, groups', () => {
  expect(settingsOf(['a=1', 'b=x', 'c=true', 'd=1,x', 'e=[1,2]', 'f.g=1', 'f.h.i=x=y', 'j=1', 'j=2'])).toEqual({
    a: 1,
    b: 'x',
    c: true,
    d: [1, 'x'],
    e: [1, 2],
    f: { g: 1, h: { i: 'x=y' } },
    j: [1, 2],
  })
})

describe('usage errors', () => {
  const bad = join(folder, 'bad.json')
  const list = join(folder, 'list.json')
  const noHook = join(folder, 'no-hook.mjs')
  beforeAll(() => {
    writeFileSync(bad, '{')
    writeFileSync(list, '[]')
    writeFileSync(noHook, 'export default {}')
  })

  it.each([
    [['scal'], "there is no hook 'scal'. Did you mean 'scale'?"],
    [['scale', '-o', 'signal=u'], "there is no signal 'u'"],
    [['scale', '-o', 'signal'], "'signal' is not valid. Expected key=value"],
    [['scale', '-v', '0'], "'0' is not valid"],
    [['scale', '-c', bad], 'Expected settings as JSON'],
    [['scale', '-c', list], 'is no object'],
    [['module'], 'path: is missing'],
    [['module', '-o', 'path=./nowhere.mjs'], 'hook module: ./nowhere.mjs cannot be loaded'],
    [['module', '-o', `path=${noHook}`], 'is no hook. Its default export must be an object'],
    [['digest', '-o', 'uri=x', '-o', 'algorithm=none'], 'algorithm: "none" is not valid'],
  ])('%j', async (args, expected) => {
    const { code, stderr } = await verbena('gateway', 'hook', ...args)
    expect([code, stderr]).toEqual([2, expect.stringContaining(expected)])
  })
})

it('the help lists all hooks', async () => {
  const { stdout } = await verbena('gateway', 'hook', '--help')
  for (const [name, { is }] of Object.entries(hookTypes)) expect(stdout).toMatch(new RegExp(`^  ${name} +${is}`, 'm'))
  expect(Object.keys(await loadHookTypes([]))).toEqual(Object.keys(hookTypes))
})
