/** `verbena gateway node` with an API: it says where, answers, and stops when it is asked to. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { command } from '../../built.ts'
import { verbena } from '../../cli/in-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-api-'))
afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, http: string): string {
  const rest = 'nodes = { source = { type = "signal", rate = 100 } }\npaths = ( { in = "source" } )'
  writeFileSync(join(folder, name), `http = { ${http} }\n${rest}`)
  return join(folder, name)
}

it('answers while it runs', async () => {
  const child = spawn(process.execPath, [command, 'gateway', 'node', file('a.conf', 'port = 0')], { timeout: 60_000 })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  const ended = once(child, 'close')
  await expect.poll(() => said).toMatch(/the API and a live page: http:\/\/127.0.0.1:\d+\n/)
  const url = /http:\S+/.exec(said)![0]
  expect(await (await fetch(`${url}/api/v2/status`)).json()).toMatchObject({ state: 'started' })
  const page = await (await fetch(url)).text()
  expect(page).toMatch(/^<!doctype html>[\s\S]*<script>.{1000,}/)
  expect((await fetch(`${url}/api/v2/shutdown`, { method: 'POST' })).status).toBe(200)
  expect(await ended).toEqual([0, null])
  expect(said).toMatch(/stopped after/)
})

it('is not open to others without a token', async () => {
  const { code, stderr } = await verbena('gateway', 'node', file('b.conf', 'host = "0.0.0.0"'))
  expect(code).toBe(1)
  expect(stderr).toContain('b.conf:1: http.host: whoever reaches 0.0.0.0 could control the gateway: set http.token')
})

it('ends if it cannot listen', async () => {
  const { code, stderr } = await verbena(
    'gateway',
    'node',
    file('c.conf', 'host = "127.0.0.1", port = 1, ssl_cert = "no.pem", ssl_private_key = "no.pem"'),
  )
  expect(code).toBe(1)
  expect(stderr).toMatch(/http: .*no.pem/)
})
