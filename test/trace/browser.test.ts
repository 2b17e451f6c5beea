/** `wire`, `capture` and `trace` are pure: they are bundled for a browser here, and run where nothing of Node is. */
import { readFileSync } from 'node:fs'
import { createContext, runInContext } from 'node:vm'
import { rolldown } from 'rolldown'
import { expect, it } from 'vitest'
import { fileSource } from '../../src/files/index.ts'
import { checkCapture, plainJson, type Row, showCapture } from '../../src/trace/index.ts'

const door = new URL('../../src/trace/index.ts', import.meta.url).pathname
const capture = new URL('../captures/rping.pcap', import.meta.url).pathname

/** The bundle, as a script that leaves what the folder exports in `trace`. Imports that it could not find are errors. */
async function bundle(): Promise<string> {
  const build = await rolldown({
    input: door,
    platform: 'browser',
    onLog(_, { message }) {
      throw new Error(message)
    },
  })
  const { output } = await build.generate({ format: 'iife', name: 'trace' })
  await build.close()
  return output[0].code
}

it('a browser reads a capture as Node does', async () => {
  const expected: unknown[] = []
  await showCapture(fileSource(capture), (row: Row) => expected.push(JSON.parse(JSON.stringify(row, plainJson))))
  // What is in every browser and not in the language.
  const browser = createContext({ TextEncoder, TextDecoder, performance, file: new Uint8Array(readFileSync(capture)) })
  runInContext(await bundle(), browser)
  const run = `(async () => {
    const source = trace.bytesSource(new Uint8Array(file))
    const rows = []
    await trace.showCapture(source, (row) => rows.push(JSON.stringify(row, trace.plainJson)))
    const { icrcValid } = await trace.checkCapture(source)
    return { rows, icrcValid, node: typeof process + typeof require + typeof Buffer }
  })()`
  const seen = (await runInContext(run, browser)) as { rows: string[]; icrcValid: number; node: string }
  expect(seen.node).toBe('undefinedundefinedundefined')
  expect(seen.rows.map((row) => JSON.parse(row))).toEqual(expected)
  expect(seen.icrcValid).toBe((await checkCapture(fileSource(capture))).icrcValid)
})
