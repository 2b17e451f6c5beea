/** The tutorial's examples: each runs to its end, checks its data, says what it found; none decides by time. */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'

const root = join(import.meta.dirname, '../..')
const files = readdirSync(join(root, 'examples')).filter((file) => file.endsWith('.mjs'))
const examples = files.filter((file) => /^\d/.test(file))

interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

/** Runs the built package: `npm test` builds it first. */
function run(file: string, ...args: string[]): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(root, 'examples', file), ...args], { cwd: root, timeout: 50_000 })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (data) => {
      stdout += data
    })
    child.stderr.on('data', (data) => {
      stderr += data
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}

/** A run that must succeed. */
async function output(file: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(file, ...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

const small: Record<string, string[]> = {
  '01-send-recv.mjs': ['--messages', '300'],
  '02-write-polling.mjs': ['--messages', '300'],
  '03-selective-signaling.mjs': ['--messages', '300'],
  '04-inlining.mjs': ['--messages', '300'],
  '05-batching.mjs': ['--messages', '300', '--concurrent', '16'],
  '06-srq.mjs': ['--messages', '100', '--clients', '2', '--receives', '8'],
  '07-write-with-imm.mjs': ['--messages', '60', '--peers', '10'],
}

/** All examples have one parser of their options: each of these is one example's. */
const wrong: [args: string[], message: string][] = [
  [['--messages', '0'], '--messages must be an integer from'],
  [['--messages', 'many'], "not 'many'"],
  [['--no-such-option'], "'--no-such-option'"],
  [['1', '2', '3'], "unexpected argument '"],
]

describe.each(examples.map((file, i) => [file, wrong[i % wrong.length]!] as const))('%s', (file, [args, message]) => {
  it('prints its result', async () => {
    expect(await output(file, ...small[file]!)).toMatch(/messages|writes/)
  })

  it('prints one JSON document with --json', async () => {
    const result = JSON.parse(await output(file, ...small[file]!, '--json')) as Record<string, unknown>
    expect(result.example).toBe(file.replace('.mjs', ''))
    const rates = [result, ...((result.runs as Record<string, unknown>[]) ?? [])]
      .map((one) => one.messagesPerSecond)
      .filter((rate) => rate !== undefined)
    expect(rates.length).toBeGreaterThan(0)
    for (const rate of rates) expect(rate).toBeGreaterThan(0)
  })

  it('has --help', async () => {
    const help = await output(file, '--help')
    expect(help).toContain(`Usage: node examples/${file}`)
    expect(help).toContain('--messages N')
  })

  it(`refuses ${args.join(' ')} with exit code 2`, async () => {
    const { code, stdout, stderr } = await run(file, ...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toContain('--help')
  })
})

describe('what the examples show', () => {
  it.each([
    ['4', '1'],
    ['4096', '7'],
    ['100000', '2'],
  ])('01 and 02 take size %s and %s concurrent messages as arguments', async (size, concurrent) => {
    for (const file of ['01-send-recv.mjs', '02-write-polling.mjs']) {
      const result = JSON.parse(await output(file, size, concurrent, '--messages', '100', '--json'))
      expect(result).toMatchObject({ size: Number(size), concurrent: Number(concurrent), messages: 100 })
    }
  })

  it('03: a completion for every k-th write, and a send queue that fills without any', async () => {
    const result = JSON.parse(await output('03-selective-signaling.mjs', '--messages', '640', '--json'))
    expect(result.runs.map((one: { completions: number }) => one.completions)).toEqual([640, 160, 40, 10])
    expect(result).toMatchObject({ unsignaled: 64, refused: expect.stringContaining('ENOMEM') })
  })

  it('04: inlined messages do not change after they were posted', async () => {
    const result = JSON.parse(await output('04-inlining.mjs', '--messages', '500', '--json'))
    expect(result.maxInline).toBe(512)
    for (const one of result.runs as { engine: string; inline: boolean; spoiled: number }[])
      if (one.inline || one.engine === 'poster') expect(one.spoiled).toBe(0)
  })

  it('06: the immediate tells the rank', async () => {
    const result = JSON.parse(await output('06-srq.mjs', ...small['06-srq.mjs']!, '--json'))
    expect(result.received).toEqual([100, 100])
  })

  it.skipIf(!nativeAvailable)('01 runs as two processes', async () => {
    const port = await freePort()
    const common = ['--segment', `examples-${process.pid}`, '--messages', '50']
    const [server, client] = await Promise.all([
      run('01-send-recv.mjs', '--listen', port, ...common),
      run('01-send-recv.mjs', '--connect', port, ...common),
    ])
    expect(client).toMatchObject({ code: 0, stderr: '' })
    expect(client.stdout).toContain('50 messages of 64 bytes')
    expect(server.code).toBe(0)
  })
})

it('the tutorial names every file', () => {
  const tutorial = readFileSync(join(root, 'docs/guide/tutorial.md'), 'utf8')
  expect(files.filter((file) => !tutorial.includes(`examples/${file}`))).toEqual([])
  expect(Object.keys(small)).toEqual(examples)
})

function freePort(): Promise<string> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(String(port)))
    })
  })
}
