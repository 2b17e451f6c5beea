/**
 * A client of `ucmatose -C 1 -S 100` that hangs up by itself, PAUSE milliseconds after its message. It prints the events
 * of its connection, with their statuses.
 *
 *     node hang-up.mjs DEVICE ADDRESS PAUSE
 */
import { Access, CmEventType, createEventChannel, Opcode, PortSpace, workCompletions } from '../../../dist/index.js'

const [device, address, pause] = process.argv.slice(2)
const timeLimitMs = 20_000
const channel = createEventChannel({ device })
const id = channel.createId(PortSpace.Tcp)
const events = []

function expectEvent(type) {
  const event = channel.getEvent(timeLimitMs)
  if (event === undefined || event === null) throw new Error('no event came')
  events.push({ name: event.name, status: event.status })
  if (event.type !== type) throw new Error(`${event.name}, status ${event.status}`)
}

id.resolveAddr(undefined, { address, port: 7471 })
expectEvent(CmEventType.AddrResolved)
id.resolveRoute()
expectEvent(CmEventType.RouteResolved)
const qp = id.createQp()
const mr = id.pd.regMr(id.verbs.alloc(4096), Access.LocalWrite)
const sgList = [{ addr: mr.addr, length: 100, lkey: mr.lkey }]
qp.postRecv({ wrId: 1, sgList })
id.connect({ retryCount: 7, rnrRetryCount: 7 })
expectEvent(CmEventType.Established)
const wcs = workCompletions(1)
const end = performance.now() + timeLimitMs
while (id.recvCq.poll(wcs) === 0) if (performance.now() > end) throw new Error('no message came')
qp.postSend({ opcode: Opcode.Send, wrId: 2, sgList })
const hangUp = performance.now() + Number(pause)
while (performance.now() < hangUp) id.sendCq.poll(wcs)
id.disconnect()
expectEvent(CmEventType.Disconnected)
const context = id.verbs
id.close()
const counters = context.counters()
console.log(JSON.stringify({ events, counters }))
channel.close()
