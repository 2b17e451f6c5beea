/** What `openDevice` says where something else has the port of an address. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { portInUse } from '../../../src/devices/roce/port-in-use.ts'
import { sharedSegmentName } from '../../../src/devices/roce/shared-hosts.ts'
import { nativeAvailable, openDevice } from '../../../src/index.ts'
import { segmentFile } from '../../../src/memory/index.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'

const children: ChildProcess[] = []

afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
})

/** A process, perhaps of another user, that runs a script until it says that it is ready. */
async function holder(script: string, options: { uid?: number; env?: Record<string, string> } = {}): Promise<number> {
  const stdio = ['ignore', 'pipe', 'inherit'] as const
  const env = { ...process.env, ...options.env }
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    ...options,
    stdio: [...stdio],
    env,
    cwd: '/',
  })
  children.push(child)
  await once(child.stdout!, 'data')
  return child.pid!
}

const foreign = (n: number): string => `
  import { createSocket } from 'node:dgram'
  createSocket('udp4').bind({ address: '${loopbackAddress(n)}', port: 4791 }, () => console.log('ready'))`
const verbena = (n: number): string => `
  const { openDevice } = await import(${JSON.stringify(new URL('../../../dist/index.js', import.meta.url).href)})
  openDevice('${loopbackDevice(n)}')
  console.log('ready')
  setInterval(() => {}, 1000)`

const inUse = (message: RegExp): unknown =>
  expect.objectContaining({ code: 'EADDRINUSE', reason: 'device-in-use', message: expect.stringMatching(message) })

describe.skipIf(!nativeAvailable || !existsSync('/proc/net/udp'))('a port that is taken', () => {
  it('by a program that is not Verbena', async () => {
    const pid = await holder(foreign(1))
    expect(() => openDevice(loopbackDevice(1))).toThrow(
      inUse(
        new RegExp(`in use by process ${pid} \\(.*node.*\\), and it does not share the device: it is no program of`),
      ),
    )
  })

  it('by such a program, while others have the device of all addresses', async () => {
    const pid = await holder(foreign(7))
    const group = `verbena-test-${process.pid}`
    const folder = `/dev/shm/${group}`
    mkdirSync(folder)
    process.env.VERBENA_ROCE_GROUP = group
    try {
      writeFileSync(`/dev/shm/${segmentFile(sharedSegmentName('roce'))}`, '')
      const address = { text: loopbackAddress(7), address: Uint8Array.from(loopbackAddress(7).split('.'), Number) }
      const said = portInUse({ name: loopbackDevice(7), isShared: true, isWrapped: false }, address as never)
      expect(said).toMatch(new RegExp(`in use by process ${pid} .*, and it does not share the device`))
    } finally {
      delete process.env.VERBENA_ROCE_GROUP
      rmSync(folder, { recursive: true })
    }
  })

  it.runIf(process.geteuid?.() === 0)('by another user', async () => {
    await holder(foreign(2), { uid: 65534 })
    expect(() => openDevice(loopbackDevice(2))).toThrow(
      inUse(/in use by a process of user 65534: users share a device only as a group/),
    )
  })

  it('by a process that does not share it', async () => {
    const pid = await holder(verbena(3), { env: { VERBENA_ROCE_SHARED: '0' } })
    expect(() => openDevice(loopbackDevice(3))).toThrow(inUse(new RegExp(`by process ${pid} .*VERBENA_ROCE_SHARED=0`)))
  })

  it('where this process wants to have it alone', async () => {
    const pid = await holder(verbena(4))
    const by = `in use by process ${pid} .*, and this one cannot share the device`
    expect(() => openDevice(loopbackDevice(4), { wrap: [{ kind: 'faults', loss: 0.1 }] })).toThrow(
      inUse(new RegExp(`${by}, because it wants middleware`)),
    )
    process.env.VERBENA_ROCE_SHARED = '0'
    try {
      expect(() => openDevice(loopbackDevice(4))).toThrow(inUse(new RegExp(`${by}, because VERBENA_ROCE_SHARED is 0`)))
    } finally {
      delete process.env.VERBENA_ROCE_SHARED
    }
    openDevice(loopbackDevice(4)).close()
  })

  it('where koffi is missing', async () => {
    await holder(verbena(5))
    const child = spawn(process.execPath, ['--input-type=module', '-e', verbena(5)], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, VERBENA_NO_NATIVE: '1' },
    })
    let said = ''
    child.stderr.on('data', (chunk) => (said += chunk))
    await once(child, 'close')
    expect(said).toMatch(/this one cannot share the device without koffi \(.*VERBENA_NO_NATIVE=1/)
  })

  it('by this process, for another device', async () => {
    const context = openDevice(loopbackDevice(6))
    const address = { text: loopbackAddress(6), address: Uint8Array.from(loopbackAddress(6).split('.'), Number) }
    const said = portInUse({ name: 'roce', isShared: true, isWrapped: false }, address as never)
    expect(said).toContain(`in use by this process, perhaps for the device ${loopbackDevice(6)}: open that`)
    context.close()
  })
})
