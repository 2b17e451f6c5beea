/** A window whose consumer has dropped it is gone, also while the flows that it had are still known. */
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { Observer } from '../../src/monitor/index.ts'
import { Traffic } from './traffic.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

it('keeps no window for a flow that has fallen silent', async () => {
  const traffic = new Traffic({ memoryBytes: 2 ** 20 })
  const windows: WeakRef<object>[] = []
  const observer = new Observer({
    ...{ config: traffic.config, agent: 'test', run: 'run' },
    onWindow: (window) => windows.push(new WeakRef(window)),
  })
  // The packets go to this observer instead.
  traffic.observer.packet = (packet) => observer.packet(packet)
  for (let second = 0; second < 40; second++) {
    const to = { destQp: 0x100 + second }
    traffic.send(second, to, 1e9)
    traffic.send(second + 1, to)
  }
  observer.finish()
  expect(windows.length).toBeGreaterThanOrEqual(40)
  for (let turn = 0; turn < 3; turn++) {
    await delay(0)
    gc()
  }
  const alive = windows.filter((window) => window.deref() !== undefined).length
  expect(alive).toBeLessThan(10)
  // Its flows are known all the same.
  expect(observer).toBeDefined()
})
