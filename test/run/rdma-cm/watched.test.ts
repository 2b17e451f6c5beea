/** What is told of a program of librdmacm: its commands, the events that it was given, and why what failed has failed. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type CmEvent, CmEventType } from '../../../src/cm/index.ts'
import { QpType } from '../../../src/index.ts'
import { whyEventFailed } from '../../../src/run/rdma-cm/why-failed.ts'
import { Recording } from '../watch/recording.ts'
import { CmProgram, connParam, inet, openCmDoor, settle, words } from './program.ts'

let recording: Recording
let a: CmProgram
let b: CmProgram
let end: () => void

function begin(detailed = true): void {
  recording = new Recording(detailed)
  const { door, context } = openCmDoor(recording)
  a = new CmProgram(door)
  b = new CmProgram(door)
  end = () => {
    for (const program of [a, b]) program.end()
    door.close()
    context.close()
  }
}
beforeEach(() => begin())
afterEach(() => end())

/** A listener of `b`. */
function listening(): { listener: number; port: number } {
  const listener = b.createId()
  b.bind(listener, inet(0))
  b.listen(listener, 5)
  return { listener, port: b.command(19, words(0, 0, listener, 0), 280).readUInt16BE(18) }
}

/** `a` asks for a connection, and `b` has seen that. */
function asked(): { own: number; theirs: number; listener: number; port: number } {
  const { listener, port } = listening()
  const own = a.createId()
  a.resolve(own, inet(port))
  a.types()
  a.connect(own, connParam(77, 'hello'))
  return { own, theirs: b.event()!.id, listener, port }
}

const events = (): string[] => recording.all('cm-event').map(({ event }) => event.slice('RDMA_CM_EVENT_'.length))

describe('commands', () => {
  it('are told with their arguments and results', () => {
    const { own, listener, port } = asked()
    const [made] = recording.commands('rdma_create_id')
    expect(made).toMatchObject({ device: 'rdma_cm', program: 'test', pid: process.pid, durationUs: expect.any(Number) })
    expect(made).toMatchObject({ args: { ps: 'RDMA_PS_TCP', qp_type: 'IBV_QPT_RC' }, result: { id: listener } })
    expect(recording.commands('rdma_bind_addr')[0]!.args).toEqual({ id: listener, addr: '127.0.0.1:0' })
    expect(recording.commands('rdma_listen')[0]!.args).toEqual({ id: listener, backlog: 5 })
    expect(recording.commands('rdma_resolve_addr')[0]!.args).toEqual({
      id: own,
      timeout_ms: 1000,
      dst: `127.0.0.1:${port}`,
    })
    expect(recording.commands('rdma_cm QUERY')[0]).toMatchObject({
      args: { id: listener, option: 'RDMA_USER_CM_QUERY_ADDR' },
      result: { src: `127.0.0.1:${port}`, port_num: 1 },
    })
    expect(recording.commands('rdma_connect')[0]!.args).toEqual({
      ...{ id: own, qp_num: '0x4d', private_data_len: 5, responder_resources: 4, initiator_depth: 2 },
      ...{ flow_control: 1, retry_count: 15, rnr_retry_count: 6 },
    })
    a.initQpAttr(own, 1)
    expect(recording.commands('rdma_init_qp_attr')[0]).toMatchObject({
      args: { id: own, qp_state: 'IBV_QPS_INIT' },
      result: { qp_attr_mask: expect.stringMatching(/^IBV_QP_STATE\|IBV_QP_ACCESS_FLAGS/), port_num: 1 },
    })
    a.destroyId(own)
    expect(recording.commands('rdma_destroy_id')[0]).toMatchObject({
      args: { id: own },
      result: { events_reported: 2 },
    })
  })

  it('that failed say their errno and why', () => {
    expect(() => a.listen(99)).toThrow()
    expect(recording.all('command').at(-1)).toMatchObject({
      ...{ verb: 'rdma_listen', args: { id: 99, backlog: 0 }, result: {}, errno: 'ENOENT' },
      reason: 'rdma_listen: there is no id 99',
    })
    expect(() => a.send(77, words(0))).toThrow()
    expect(recording.all('command').at(-1)).toMatchObject({ errno: 'EINVAL', reason: 'rdma_cm has no command 77' })
  })

  it('that ask for an event are told where there is none, which is no failure', () => {
    expect(a.event()).toBeUndefined()
    const asks = recording.commands('rdma_get_cm_event')
    expect(asks).toEqual([expect.objectContaining({ errno: 'EAGAIN', expected: true })])
  })

  it('have no arguments where nobody wants all of it', () => {
    end()
    begin(false)
    a.createId()
    expect(recording.commands('rdma_create_id')[0]).toMatchObject({ args: {}, result: {} })
  })
})

describe('events', () => {
  it('are told as they are handed out, once, with their id and private data', () => {
    const { own, theirs, listener } = asked()
    expect(events()).toEqual(['ADDR_RESOLVED', 'ROUTE_RESOLVED', 'CONNECT_REQUEST'])
    expect(recording.all('cm-event')[2]).toEqual({
      ...{ type: 'cm-event', device: 'rdma_cm', program: 'test', pid: process.pid, timeUs: expect.any(Number) },
      ...{ event: 'RDMA_CM_EVENT_CONNECT_REQUEST', id: theirs, listenId: listener, status: 0, privateDataLength: 56 },
    })
    b.accept(theirs, 7n, connParam(88))
    settle(a.door)
    // It has come, and nobody has it yet.
    expect(events()).toHaveLength(3)
    a.event()
    expect(recording.all('cm-event')[3]).toMatchObject({ event: 'RDMA_CM_EVENT_CONNECT_RESPONSE', id: own })
    expect(recording.all('cm-event').flatMap(({ reason }) => reason ?? [])).toEqual([])
    // The call itself is not told besides.
    expect(recording.commands('rdma_get_cm_event').filter(({ errno }) => errno === undefined)).toEqual([])
  })

  it('are told of a thread that has waited for them', () => {
    a.nonBlocking = false
    const room = a.memory.map(4096).address
    a.send(12, words(room % 2 ** 32, Math.floor(room / 2 ** 32)), 336)
    expect(recording.all('command')).toEqual([])
    a.resolve(a.createId(), inet(9))
    expect(events()).toEqual(['ADDR_RESOLVED'])
  })

  it('of a rejection say by whom and why', () => {
    const own = a.createId()
    a.resolve(own, inet(9))
    a.connect(own, connParam(77))
    a.types()
    expect(recording.all('cm-event').at(-1)).toMatchObject({
      ...{ event: 'RDMA_CM_EVENT_REJECTED', id: own, status: 8 },
      reason: expect.stringMatching(
        /^RDMA_CM_EVENT_REJECTED: 127\.0\.0\.1 port 9 has rejected the connection: reason 8, invalid service ID: nobody listens on this adapter, shm:/,
      ),
    })
    const { theirs, port } = asked()
    const reject = Buffer.alloc(264)
    reject.set(words(theirs))
    b.send(9, reject)
    a.types()
    expect(recording.all('cm-event').at(-1)).toMatchObject({
      ...{ status: 28, privateDataLength: 148 },
      reason: expect.stringMatching(
        new RegExp(`127\\.0\\.0\\.1 port ${port} has rejected .*reason 28, consumer reject`),
      ),
    })
  })

  it('of an address to which no adapter leads name it and the adapters', () => {
    const own = a.createId()
    try {
      a.resolve(own, inet(7471, 192, 0, 2, 7))
    } catch {
      // The route is asked for without an address.
    }
    a.types()
    expect(recording.all('cm-event')).toEqual([
      expect.objectContaining({
        event: 'RDMA_CM_EVENT_ADDR_ERROR',
        reason: expect.stringMatching(/192\.0\.2\.7 \(E\w+\); it has rxe0 \(shm:run\): adapters in shared memory/),
      }),
    ])
  })
})

/** An event of an id that asks 192.0.2.7 port 7471. */
function event(
  type: CmEventType,
  status: number,
  statusText = `reason ${status}`,
  qpType: QpType = QpType.RC,
): CmEvent {
  const id = {
    ...{ qpType, peerAddress: { address: '192.0.2.7', port: 7471 }, localAddress: { address: '192.0.2.9', port: 1 } },
    verbs: { queryPort: () => ({ linkLayer: 2 }) },
  }
  return { type, status, statusText, name: 'RDMA_CM_EVENT', id } as unknown as CmEvent
}

describe('a sentence', () => {
  it.each([
    [
      event(CmEventType.Unreachable, -110, 'ETIMEDOUT'),
      /192\.0\.2\.7 port 7471 did not answer \(ETIMEDOUT\): .* 192\.0\.2\.9 .*RoCEv2/,
    ],
    [event(CmEventType.Unreachable, 1, '', QpType.UD), /port 7471 has no service of this port \(SIDR status 1\)/],
    [event(CmEventType.Unreachable, 2, '', QpType.UD), /has rejected the request \(SIDR status 2\)/],
    [event(CmEventType.RouteError, -110, 'ETIMEDOUT'), /no path leads to 192\.0\.2\.7 port 7471 \(ETIMEDOUT\) .* rxe0/],
    [event(CmEventType.ConnectError, -22, 'EINVAL'), /the connection to 192\.0\.2\.7 port 7471 failed \(EINVAL\)/],
    [event(CmEventType.Rejected, 10), /reason 10, stale connection/],
    [event(CmEventType.Rejected, 3), /reason 3, no resources/],
    [event(CmEventType.Rejected, 25), /has rejected the connection: reason 25/],
    [event(CmEventType.MulticastError, -22, 'EINVAL'), /the group could not be joined \(EINVAL\)/],
  ])('is said of each failure: %#', (failed, sentence) =>
    expect(whyEventFailed(failed, 'rxe0 (roce)')).toMatch(sentence),
  )

  it.each([CmEventType.Established, CmEventType.Disconnected, CmEventType.TimewaitExit])('is not said of %d', (type) =>
    expect(whyEventFailed(event(type, 0), '')).toBeUndefined(),
  )
})

it('who does not watch is told nothing, and pays for nothing', () => {
  const { door, context } = openCmDoor()
  const program = new CmProgram(door)
  const now = vi.spyOn(performance, 'now')
  program.createId()
  expect(now).not.toHaveBeenCalled()
  vi.restoreAllMocks()
  program.end()
  door.close()
  context.close()
})
