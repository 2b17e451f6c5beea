/** Runs of the tutorial's examples, and what is expected of each. */
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

export const root = join(import.meta.dirname, '../..')
export const files = readdirSync(join(root, 'examples')).filter((file) => file.endsWith('.mjs'))
export const examples = files.filter((file) => /^\d/.test(file))

interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

/** Runs the built package: `npm test` builds it first. */
export function run(file: string, ...args: string[]): Promise<Ended> {
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
export async function output(file: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(file, ...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

export const small: Record<string, string[]> = {
  '01-send-recv.mjs': ['--messages', '300'],
  '02-write-polling.mjs': ['--messages', '300'],
  '03-selective-signaling.mjs': ['--messages', '300'],
  '04-inlining.mjs': ['--messages', '300'],
  '05-batching.mjs': ['--messages', '300', '--concurrent', '16'],
  '06-srq.mjs': ['--messages', '100', '--clients', '2', '--receives', '8'],
  '07-write-with-imm.mjs': ['--messages', '60', '--peers', '10'],
}

/** Each example prints its result as text or as JSON, the first as `first` says and so on in turn. */
export function printsResults(first: 'text' | 'JSON'): void {
  const asText = first === 'text' ? 0 : 1
  it.each(examples.filter((_, i) => i % 2 === asText))('%s prints its result', async (file) => {
    expect(await output(file, ...small[file]!)).toMatch(/messages|writes/)
  })

  it.each(examples.filter((_, i) => i % 2 !== asText))('%s prints one JSON document with --json', async (file) => {
    const result = JSON.parse(await output(file, ...small[file]!, '--json')) as Record<string, unknown>
    expect(result.example).toBe(file.replace('.mjs', ''))
    const rates = [result, ...((result.runs as Record<string, unknown>[]) ?? [])]
      .map((one) => one.messagesPerSecond)
      .filter((rate) => rate !== undefined)
    expect(rates.length).toBeGreaterThan(0)
    for (const rate of rates) expect(rate).toBeGreaterThan(0)
  })
}

export function takesSizes(sizes: [size: string, concurrent: string][]): void {
  it.each(sizes)('01 and 02 take size %s and %s concurrent messages as arguments', async (size, concurrent) => {
    for (const file of ['01-send-recv.mjs', '02-write-polling.mjs']) {
      const result = JSON.parse(await output(file, size, concurrent, '--messages', '100', '--json'))
      expect(result).toMatchObject({ size: Number(size), concurrent: Number(concurrent), messages: 100 })
    }
  })
}

/** All examples have one parser of their options: each of these is one example's. */
const wrong: [args: string[], message: string][] = [
  [['--messages', '0'], '--messages must be an integer from'],
  [['--messages', 'many'], "not 'many'"],
  [['--no-such-option'], "'--no-such-option'"],
  [['1', '2', '3'], "unexpected argument '"],
]

/** The help of `some` examples, and what they say of wrong options. */
export function teaches(some: readonly string[]): void {
  const each = some.map((file) => [file, wrong[examples.indexOf(file) % wrong.length]!] as const)
  describe.each(each)('%s', (file, [args, message]) => {
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
}
