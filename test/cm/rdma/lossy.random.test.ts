/** The RDMA CM on links that lose, double and delay: every connection is made, and ends on both sides. */
import { expect, it } from 'vitest'
import { CmEventType, type CmId, createEventChannel, faults, openDevice, PortSpace } from '../../../src/index.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'
import { slow } from '../../property.ts'

const T = CmEventType
const connections = slow ? 40 : 12

it('connections, with 15 % of the messages lost, 10 % doubled and 10 % overtaken', async () => {
  const seed = Number(process.env.VERBENA_SEED ?? Math.floor(Math.random() * 2 ** 31))
  const again = `${slow ? 'VERBENA_SLOW=1 ' : ''}VERBENA_SEED=${seed} npx vitest run test/cm/rdma/lossy.random.test.ts`
  const wrap = (n: number) => [faults({ loss: 0.15, duplication: 0.1, reordering: 0.1, seed: seed + n })]
  const contexts = [1, 2].map((n) => openDevice(loopbackDevice(n), { wrap: wrap(n) }))
  const [server, client] = contexts.map((device) => createEventChannel({ device }))
  const brief = (id: CmId): void => {
    // Linux, too, counts the time from end to end, 268 ms, for the one who asks alone: much less than that would be unfair.
    id.setOption('responseTimeout', 16)
    id.setOption('maxRetries', 15)
  }
  const listener = server!.createId(PortSpace.Tcp)
  listener.bindAddr({ address: loopbackAddress(1) })
  listener.listen()
  const seen = { asked: 0, served: 0, established: 0, serverEnds: 0, clientEnds: 0 }
  const problems: string[] = []
  server!.onReadable(() => {
    for (let event = server!.tryGetEvent(); event !== undefined; event = server!.tryGetEvent()) {
      const { id, type } = event
      if (type === T.ConnectRequest) {
        seen.asked++
        id.createQp({ cap: { maxSendWr: 1, maxRecvWr: 1 } })
        id.accept()
      } else if (type === T.Established) seen.served++
      else if (type === T.Disconnected) {
        seen.serverEnds++
        id.disconnect()
      } else if (type !== T.TimewaitExit) problems.push(`server: ${event.name} ${event.status}`)
    }
  })
  client!.onReadable(() => {
    for (let event = client!.tryGetEvent(); event !== undefined; event = client!.tryGetEvent()) {
      const { id, type } = event
      if (type === T.AddrResolved) id.resolveRoute()
      else if (type === T.RouteResolved) {
        id.createQp({ cap: { maxSendWr: 1, maxRecvWr: 1 } })
        id.connect()
      } else if (type === T.Established) {
        seen.established++
        id.disconnect()
      } else if (type === T.Disconnected) seen.clientEnds++
      else if (type !== T.TimewaitExit) problems.push(`client: ${event.name} ${event.status}`)
    }
  })
  for (let i = 0; i < connections; i++) {
    const id = client!.createId(PortSpace.Tcp)
    brief(id)
    id.resolveAddr(undefined, { address: loopbackAddress(1), port: listener.localAddress.port })
  }
  const end = performance.now() + 25_000
  while ((seen.clientEnds < connections || seen.serverEnds < connections) && performance.now() < end)
    await new Promise((resolve) => setTimeout(resolve, 5))
  expect(problems, again).toEqual([])
  // Where the RTU and its repetitions are overtaken by the DREQ, the server hears of the end alone.
  const { served, ...others } = seen
  const all = { asked: connections, established: connections, serverEnds: connections, clientEnds: connections }
  expect(others, again).toEqual(all)
  expect(served, again).toBeLessThanOrEqual(connections)
  for (const channel of [server!, client!]) channel.close()
  expect(contexts[0]!.counters().injected_losses).toBeGreaterThan(0)
  for (const context of contexts) context.close()
})
