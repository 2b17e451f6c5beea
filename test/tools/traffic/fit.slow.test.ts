/** Traffic that is captured on a device is fitted. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/memory/index.ts'
import { freePort } from '../../cli/ends.ts'
import { begin, verbena } from '../../cli/in-process.ts'
import { outcome, startProcess } from '../../cli/run.ts'

const dir = mkdtempSync(join(tmpdir(), 'verbena-fit-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

describe.skipIf(!nativeAvailable)('a round trip', () => {
  it('the capture of generated traffic has the sizes and verbs that were asked for', { timeout: 60_000 }, async () => {
    const port = Number(await freePort())
    const config = join(dir, 'generated.yaml')
    const tap = join(dir, 'tap.pcapng')
    writeFileSync(
      config,
      `servers: [127.0.0.64:${port}]\nsize: { 64: 40, 512: 30, 4000: 20, 20000: 10 }\nverbs: { send: 60, write: 40 }\ncount: 300\nrequests: 1000\nflow: push\n`,
    )
    const server = begin(['traffic', 'server', '-d', 'roce:127.0.0.64', '-p', String(port), '--once'])
    await server.says(/listening/)
    const env = { ...process.env, VERBENA_TAP: tap }
    const client = startProcess(['traffic', 'client', config, '-d', 'roce:127.0.0.65', '--out', join(dir, 'results')], {
      env,
    })
    expect(await outcome(client)).toMatchObject({ code: 0 })
    expect((await server.outcome).code).toBe(0)
    const asked: Record<string, Record<string, number>> = { send: {}, write: {} }
    for (const line of (await verbena('traffic', 'client', config, '--dry-run')).stdout.trimEnd().split('\n')) {
      const { verb, size } = JSON.parse(line) as { verb: string; size: number }
      asked[verb]![size] = (asked[verb]![size] ?? 0) + 1
    }
    const fit = JSON.parse((await verbena('traffic', 'fit', tap, '--client', '127.0.0.65', '--json')).stdout)
    expect(fit).toMatchObject({ client: '127.0.0.65', servers: [{ value: '127.0.0.64' }], types: [{ value: 'RC' }] })
    const seen = fit.verbs.map(({ value, size }: { value: string; size: { weights: Record<string, number> } }) => {
      // The generator measures the link with requests of 8 bytes first.
      const { 8: _probe, ...weights } = size.weights
      return [value, weights]
    })
    expect(Object.fromEntries(seen)).toEqual(asked)
  })
})
