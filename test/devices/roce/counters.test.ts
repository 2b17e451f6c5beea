/** Counters: documented, and told to other processes. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { nativeAvailable, Opcode, openDevice, publishedCounters } from '../../../src/index.ts'
import { threadStartTime } from '../../../src/memory/index.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { loopbackDevice } from '../../loopback.ts'
import { connect, drain, makeEnd, until } from '../shm/rig.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-counters-'))
process.env.XDG_RUNTIME_DIR = folder
// The thread that drives devices may write its file between the listing of the folder and its removal (ENOTEMPTY).
afterAll(() => vi.waitFor(() => rmSync(folder, { recursive: true, force: true }), 10_000))

it('docs/internals/roce.md has a line for each counter, and for nothing else', () => {
  const text = readFileSync(new URL('../../../docs/internals/roce.md', import.meta.url), 'utf8')
  const start = text.indexOf('| counter | counts |')
  const table = text.slice(start, text.indexOf('\n\n', start))
  const documented = [...table.matchAll(/^\| `(\w+)` \| .+ \|$/gm)].map((match) => match[1]!)
  expect([...documented].sort()).toEqual([...layout.counterNames].sort())
})

it('there is room for all of them in the record of a device', () => {
  const { Dev, counterNames } = layout
  expect(Dev.counters + 2 * counterNames.length).toBeLessThanOrEqual(Dev.managementBases)
})

it('each name is counted somewhere', () => {
  const sources = new URL('../../../src/', import.meta.url)
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const texts = files
    .filter((file) => file !== 'verbs/provider/layout.ts')
    .map((file) => readFileSync(new URL(file, sources), 'utf8'))
  for (const name of layout.counterNames)
    expect(
      texts.some((text) => new RegExp(`\\b${name}\\b`).test(text)),
      name,
    ).toBe(true)
})

describe.skipIf(!nativeAvailable)('counters of other processes', () => {
  it('are told while the process lives, and go with it', async () => {
    const name = loopbackDevice(7)
    const url = new URL('../../../dist/index.js', import.meta.url).href
    const script = `import(${JSON.stringify(url)}).then(({ openDevice }) => { openDevice(${JSON.stringify(name)}); process.stdin.resume() })`
    const child = spawn(process.execPath, ['-e', script, 'some', 'words'], { stdio: ['pipe', 'inherit', 'inherit'] })
    const told = () => publishedCounters().find(({ pid }) => pid === child.pid)
    while (!told()?.devices.length && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 20))
    expect(told()!.devices.map((device) => device.name)).toEqual([name])
    expect(Object.keys(told()!.devices[0]!.counters)).toEqual([...layout.counterNames])
    // They are those of the device, whichever process has sent.
    const context = openDevice(name)
    const [a, b] = [makeEnd(context), makeEnd(context)]
    connect(a, b)
    b.qp.postRecv({ sgList: [b.sge()] })
    a.qp.postSend({ opcode: Opcode.Send, sgList: [a.sge()] })
    await until('receive', () => drain(b.recvCq).length === 1)
    await until('counter', () => told()?.devices[0]?.counters.rdma_sends === 1)
    for (const end of [a, b, context]) end.close()
    // A killed process leaves its file; who reads removes it.
    child.kill('SIGKILL')
    await once(child, 'exit')
    const file = join(folder, 'verbena', `counters-${child.pid}.json`)
    expect(readFileSync(file, 'utf8')).toContain(name)
    expect(told()).toBeUndefined()
    expect(() => readFileSync(file)).toThrow('ENOENT')
  })

  it('are neither read nor written where others can write', () => {
    const context = openDevice(loopbackDevice(8))
    const own = join(folder, 'verbena')
    const told = { pid: process.pid, startTime: threadStartTime(process.pid, process.pid), command: '', devices: [] }
    writeFileSync(join(own, `counters-${process.pid}.json`), JSON.stringify(told))
    expect(publishedCounters().some(({ pid }) => pid === process.pid)).toBe(true)
    chmodSync(own, 0o770)
    expect(publishedCounters()).toEqual([])
    chmodSync(own, 0o700)
    renameSync(own, `${own}-real`)
    symlinkSync(`${own}-real`, own)
    expect(publishedCounters()).toEqual([])
    rmSync(own)
    renameSync(`${own}-real`, own)
    context.close()
  })

  it('what is no file of ours is passed over', () => {
    openDevice(loopbackDevice(8)).close()
    writeFileSync(join(folder, 'verbena', 'counters-1.json'), '{')
    writeFileSync(join(folder, 'verbena', 'else'), '')
    expect(publishedCounters().every(({ pid }) => pid !== 1)).toBe(true)
  })
})
