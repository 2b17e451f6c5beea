/** UD ids of the RDMA CM: queue pairs found by SIDR, and multicast groups. */
import { afterEach, describe, expect, it } from 'vitest'
import { SidrStatus } from '../../../src/cm/index.ts'
import { type CmEvent, CmEventType, Opcode, PortSpace, QpState, QpType, udpQkey } from '../../../src/index.ts'
import { loopbackAddress } from '../../loopback.ts'
import { type End, Pair, places } from './rig.ts'

const T = CmEventType

function to(event: CmEvent): object {
  const { ah, qpNum, qkey } = event.param
  return { ah, remoteQpn: qpNum, remoteQkey: qkey }
}

describe.each(places)('$name', (place) => {
  let t: Pair
  const start = (): Pair => {
    t = new Pair(place)
    return t
  }
  afterEach(() => t.close())

  it('gives the address handle of the server in Established; the server answers by what it receives', async () => {
    start()
    const listener = t.listen(PortSpace.Udp)
    const id = await t.resolved({ address: place.address, port: listener.localAddress.port }, PortSpace.Udp)
    const a = t.end(id)
    expect(a.qp.type).toBe(QpType.UD)
    expect(a.qp.state).toBe(QpState.Rts)
    id.connect({ privateData: new Uint8Array(180).fill(7) })
    const request = await t.event(t.server, T.ConnectRequest)
    expect(request.param.privateData).toEqual(new Uint8Array(180).fill(7))
    expect(request.id.peerAddress).toEqual(id.localAddress)
    const b = t.end(request.id)
    request.id.accept({ privateData: Buffer.from('here I am') })
    const established = await t.event(t.client, T.Established)
    expect(established.param.privateData.length).toBe(136)
    expect(Buffer.from(established.param.privateData).toString()).toMatch(/^here I am\0/)
    expect(established.param).toMatchObject({ qpNum: b.qp.qpNum, qkey: udpQkey })
    b.recv()
    a.send('a datagram', to(established))
    expect(await b.text()).toBe('a datagram')
    // The request told the way back as well.
    a.recv()
    b.send('and back', { ah: request.param.ah, remoteQpn: a.qp.qpNum, remoteQkey: udpQkey })
    expect(await a.text()).toBe('and back')
    expect(() => id.disconnect()).toThrow(/EINVAL/)
    await t.quiet(t.client, t.server)
  })

  it('a refused request, and a port where nobody listens, are unreachable', async () => {
    start()
    const listener = t.listen(PortSpace.Udp)
    const { port } = listener.localAddress
    const id = await t.resolved({ address: place.address, port }, PortSpace.Udp)
    t.end(id)
    id.connect()
    const request = await t.event(t.server, T.ConnectRequest)
    request.id.reject(Buffer.from('no'))
    const refused = await t.event(t.client, T.Unreachable)
    expect(refused.status).toBe(SidrStatus.Reject)
    expect(Buffer.from(refused.param.privateData).toString()).toMatch(/^no\0/)
    const nobody = await t.resolved({ address: place.address, port: port === 9 ? 10 : 9 }, PortSpace.Udp)
    t.end(nobody)
    nobody.connect()
    expect((await t.event(t.client, T.Unreachable)).status).toBe(SidrStatus.Unsupported)
  })

  it('a server that does not answer is unreachable after the time of the options', async () => {
    start()
    const listener = t.listen(PortSpace.Udp)
    const id = await t.resolved({ address: place.address, port: listener.localAddress.port }, PortSpace.Udp)
    t.end(id)
    id.setOption('responseTimeout', 10)
    id.setOption('maxRetries', 2)
    const timeouts = (): number => id.verbs!.counters().cm_timeouts!
    const before = timeouts()
    id.connect()
    expect((await t.event(t.client, T.Unreachable)).status).toBe(-110)
    expect(timeouts() - before).toBe(1)
    await t.event(t.server, T.ConnectRequest)
  })

  it('multicast: join tells what to send with, members receive, who leaves does not', async () => {
    start()
    const group = `239.${(process.pid >> 8) & 255}.${process.pid & 255}.${places.indexOf(place) + 1}`
    const members: End[] = []
    const joins: CmEvent[] = []
    for (const channel of [t.client, t.server]) {
      const id = channel.createId(PortSpace.Udp)
      const own =
        place.kind === 'shm'
          ? '127.0.0.1'
          : channel === t.server
            ? place.address
            : t.client.devices.only!.name.slice('roce:'.length)
      id.bindAddr({ address: own })
      const end = t.end(id)
      const context = { mine: members.length }
      id.joinMulticast({ address: group }, context)
      const join = await t.event(channel, T.MulticastJoin)
      expect(join.param).toMatchObject({ qpNum: 0xffffff, qkey: udpQkey })
      expect(join.param.context === context).toBe(true)
      members.push(end)
      joins.push(join)
    }
    const [a, b] = members as [End, End]
    for (const end of members) end.recv()
    a.send('to all', to(joins[0]!))
    for (const end of members) expect(await end.text()).toBe('to all')
    b.id.leaveMulticast({ address: group })
    expect(() => b.id.leaveMulticast({ address: group })).toThrow(/not in the group/)
    expect(() => a.id.joinMulticast({ address: group })).toThrow(/already/)
    for (const end of members) end.recv()
    a.send('to the rest', { ...to(joins[0]!), opcode: Opcode.SendWithImm, immData: 9 })
    expect(await a.text()).toBe('to the rest')
    expect(b.qp.recvCq.startPoll()).toBe(false)
  })

  it('a resolved group can be joined, and not be connected to', async () => {
    start()
    const id = await t.resolved({ address: '239.1.2.3', port: 0 }, PortSpace.Udp)
    t.end(id)
    expect(() => id.connect()).toThrow(/joined/)
    expect(() => id.joinMulticast({ address: loopbackAddress(1) })).toThrow(/no multicast address/)
    id.joinMulticast({ address: '239.1.2.3' })
    await t.event(t.client, T.MulticastJoin)
  })
})
