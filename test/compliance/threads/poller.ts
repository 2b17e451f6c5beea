/** Polls a completion queue that belongs to another thread, until it is told to end. */
import { WcStatus, workCompletions } from '../../../src/index.ts'
import type { PollerData } from './start.ts'
import { data, hear, open, say, turn } from './worker.ts'

const { cq: handle, taken: told } = data<PollerData>()
const context = open()
const cq = context.importCq(handle)
const wc = workCompletions(5)
const taken: number[] = []
let over = false
const end = hear().then(() => {
  over = true
})
say('ready')
while (!over) {
  const n = cq.poll(wc)
  for (const each of wc.slice(0, n)) {
    if (each.status !== WcStatus.Success) throw new Error(each.statusText)
    taken.push(each.wrId)
  }
  Atomics.add(told, 0, n)
  await turn()
}
await end
cq.close()
context.close()
say(taken)
