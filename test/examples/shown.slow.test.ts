/** The tutorial's examples: each runs to its end, checks its data, says what it found; none decides by time. */
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'
import { examples, files, output, printsResults, root, run, small, teaches } from './examples.ts'

// The other way around, other sizes, and what the other examples say in examples.slow.test.ts.
printsResults('text')

teaches(examples.slice(0, 1))

describe('what the examples show', () => {
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

it('the tutorial names all programs, and the guides all files', () => {
  const guides = readdirSync(join(root, 'docs/guide')).map((page) => join(root, 'docs/guide', page))
  const unnamed = (names: readonly string[], pages: readonly string[]): string[] => {
    const text = pages.map((page) => readFileSync(page, 'utf8')).join()
    return names.filter((file) => !text.includes(`examples/${file}`))
  }
  expect(unnamed(examples, [join(root, 'docs/guide/tutorial.md')])).toEqual([])
  expect(unnamed(files, guides)).toEqual([])
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
