/** `verbena gateway node` with an API: it says where, answers, and stops when it is asked to. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
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

/** A program, what it says, and how it ends. */
function start(...args: string[]) {
  const child = spawn(process.execPath, [command, 'gateway', 'node', ...args], { timeout: 60_000 })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  return { child, said: () => said, ended: once(child, 'close') }
}

const address = /the API and a live page: (http:\/\/127.0.0.1:\d+)(?:\/#token=(\S+))?\n/

it('answers while it runs whoever has the token that it prints, and SIGTERM ends it in order', async () => {
  // Without a path, too, it waits for what comes through the API.
  writeFileSync(join(folder, 'a.conf'), 'http = { port = 0 }')
  const { child, said, ended } = start(join(folder, 'a.conf'))
  await expect.poll(said, { timeout: 30_000 }).toMatch(address)
  const [, url, token] = address.exec(said())!
  const status = (headers: Record<string, string>) => fetch(`${url}/api/v2/status`, { headers })
  expect((await status({})).status).toBe(401)
  expect(await (await status({ authorization: `Bearer ${token}` })).json()).toMatchObject({ state: 'started' })
  const page = await (await fetch(url!)).text()
  expect(page).toMatch(/^<!doctype html>[\s\S]*<script>.{1000,}/)
  expect(page).not.toContain(token)
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
  expect(said()).toMatch(/stopped after/)
})

it('asks nobody for a token if it is told so, and says that this is dangerous', async () => {
  const { said, ended } = start(file('open.conf', 'port = 0'), '--no-token')
  await expect.poll(said, { timeout: 30_000 }).toMatch(/every user of this host can change the gateway/)
  const [, url, token] = address.exec(said())!
  expect(token).toBeUndefined()
  expect((await fetch(`${url}/api/v2/shutdown`, { method: 'POST' })).status).toBe(200)
  expect(await ended).toEqual([0, null])
})

it('is not open to others without a token', async () => {
  const open = await verbena('gateway', 'node', file('b.conf', 'host = "0.0.0.0", no_token = true'))
  expect([open.code, open.stderr]).toEqual([1, expect.stringContaining('http.no_token: whoever reaches 0.0.0.0')])
  const asked = await verbena('gateway', 'node', file('b.conf', 'host = "0.0.0.0"'), '--no-token')
  expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('--no-token')])
})

it('says that its port is taken before any node is started', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const { code, stderr } = await verbena('gateway', 'node', file('d.conf', `port = ${port}`), '-d', 'debug')
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^.*http: cannot listen on 127.0.0.1:\d+: .*EADDRINUSE.*\n$/),
  ])
  taken.close()
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
