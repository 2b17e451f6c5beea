/** A flow that becomes another one has nothing of the one before. */
import { expect, it } from 'vitest'
import { Flow, Service } from '../../src/trace/flow.ts'

const limits = {
  latencies: { count: 0, unmeasured: 0, add: () => {}, summary: () => undefined },
  rings: { bytesLeft: 1 << 20 },
}

it('forgets all that it had counted when it becomes another one', () => {
  const flow = new Flow(1, 2, 3, 4, Service.RC, -1, limits)
  flow.begin(100, true)
  flow.pause(true)
  flow.outstanding.put(100, 0, 1, 5, 1)
  const fields = flow as unknown as Record<string, unknown>
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'number') fields[name] = 7
    else if (typeof value === 'boolean') fields[name] = !value
    else if (value === undefined) fields[name] = flow
  }
  flow.naks.fill(7)
  flow.outstanding.free()
  flow.renew(10, 20, 30, 40, Service.UD, 50)
  expect(flow).toEqual(new Flow(10, 20, 30, 40, Service.UD, 50, limits))
  expect(flow.outstanding.find(100)).toBe(-1)
  flow.begin(7, true)
  expect(flow.isResumed).toBe(false)
})
