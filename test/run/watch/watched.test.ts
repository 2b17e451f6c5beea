/** What is told of a program: commands, requests, completions and events in the names of libibverbs, and why what failed has failed. */
import { afterEach, describe, expect, it } from 'vitest'
import type { ProgramRecord } from '../../../src/run/watch/index.ts'
import { makePair, type Pair, type PairOptions } from '../uverbs/pair.ts'
import { openDoor, Program } from '../uverbs/program.ts'
import * as v from '../uverbs/verbs.ts'
import { Recording, type RecordOf } from './recording.ts'

let recording = new Recording()
let pair: Pair | null = null

function begin(options: PairOptions = {}, detailed = true): Pair {
  recording = new Recording(detailed)
  pair = makePair({ ...options, observer: recording })
  return pair
}
afterEach(() => {
  pair?.close()
  pair = null
})

const all = <T extends ProgramRecord['type']>(type: T): RecordOf<T>[] => recording.all(type)
/** Of the completions that failed, why. */
const reasons = (): string[] => all('completion').flatMap(({ reason }) => reason ?? [])
const commands = (verb: string): RecordOf<'command'>[] => recording.commands(verb)
const hex = (value: number): string => `0x${value.toString(16)}`

describe('commands', () => {
  it('are told with their arguments and results, by the names of structures', () => {
    const { a } = begin()
    const [pd] = commands('ibv_alloc_pd')
    expect(pd).toMatchObject({ type: 'command', device: 'rxe0', program: 'test', args: {}, result: { pd: 1 } })
    expect(pd).not.toHaveProperty('errno')
    const mr = commands('ibv_reg_mr')[0]!
    expect(mr.args).toMatchObject({ pd: 1, length: 8192, start: hex(a.mr.addr) })
    expect(mr.args.access_flags).toMatch(/^IBV_ACCESS_LOCAL_WRITE\|IBV_ACCESS_REMOTE_WRITE/)
    expect(mr.result).toMatchObject({ lkey: hex(a.mr.lkey >>> 0), mr: expect.any(Number) })
    const qp = commands('ibv_create_qp')[0]!
    expect(qp.args).toMatchObject({ pd: 1, send_cq: expect.any(Number), type: 'IBV_QPT_RC' })
    expect(qp.result).toMatchObject({ qp: expect.any(Number), qpn: hex(a.qp.number) })
  })

  it('tell of ibv_modify_qp what attr_mask names, and nothing else', () => {
    const { b } = begin()
    const toRtr = commands('ibv_modify_qp').find(({ args }) => args.qp_state === 'IBV_QPS_RTR')!
    expect(toRtr.args).toMatchObject({
      attr_mask: expect.stringMatching(/^IBV_QP_STATE\|IBV_QP_AV\|IBV_QP_PATH_MTU/),
      ...{ dest_qp_num: hex(b.qp.number), path_mtu: expect.stringMatching(/^IBV_MTU_/) },
      ah_attr: { dlid: 1, port_num: 1 },
    })
    expect(toRtr.args).not.toHaveProperty('timeout')
  })

  it('that failed say their errno and why', () => {
    const { a } = begin({ connected: false })
    expect(() => v.modify(a.program, a.qp, 1, { state: 2 })).toThrow()
    expect(commands('ibv_modify_qp').at(-1)).toMatchObject({
      ...{ errno: 'EINVAL', result: {}, args: { attr_mask: 'IBV_QP_STATE' } },
      reason: expect.stringMatching(/^ibv_modify_qp: RC from RESET to RTR is no transition/),
    })
  })

  it('that are not served are named, and questions of the library are no failures', () => {
    const { a } = begin({ connected: false })
    expect(() => a.program.invoke(37, new Uint8Array(16), 4)).toThrow()
    expect(all('command').at(-1)).toMatchObject({
      ...{ verb: 'ibv_open_xrcd', errno: 'EOPNOTSUPP' },
      reason: 'ibv_open_xrcd: write command 37 is not served by this adapter',
    })
    expect(() => a.program.ioctl(14, 0, [])).toThrow()
    expect(all('command').at(-1)).toMatchObject({ verb: 'ibv_alloc_dm', errno: 'EPROTONOSUPPORT' })
    expect(all('command').at(-1)).not.toHaveProperty('expected')
    expect(() => a.program.invoke(1, new Uint8Array(0))).toThrow()
    expect(all('command').at(-1)).toMatchObject({ verb: 'ibv_query_device', errno: 'ENOSPC', expected: true })
  })

  it('have no arguments where nobody wants all of it', () => {
    begin({}, false)
    expect(commands('ibv_reg_mr')[0]).toMatchObject({ args: {}, result: {} })
  })
})

it('a library that sends commands by write(2) is told of, once for each device that it opens', () => {
  const old: number[] = []
  const { door, context } = openDoor(undefined, (pid) => old.push(pid))
  const [program, other] = [new Program(door, context), new Program(door, context)]
  program.write(0, new Uint8Array(8), 8)
  program.write(3, new Uint8Array(8), 4)
  other.open()
  expect(old).toEqual([process.pid])
  for (const each of [program, other]) each.end()
  door.close()
  context.close()
})

describe('requests', () => {
  it('are told as they are taken, and their completions as they are written', () => {
    const { a, b } = begin()
    v.postRecv(b.qp.recv, 8n, v.sge(b.mr, 64, 16))
    v.postSend(a.program, a.qp, { wrId: 2n ** 63n, opcode: 3, imm: 0x01020304, sges: [v.sge(a.mr, 0, 16)] })
    expect(all('request')).toEqual([
      expect.objectContaining({
        ...{ qpNum: a.qp.number, wrId: '0x8000000000000000', opcode: 'IBV_WR_SEND_WITH_IMM', length: 16 },
        ...{ flags: 'IBV_SEND_SIGNALED', sges: [{ addr: hex(a.mr.addr), length: 16, lkey: hex(a.mr.lkey >>> 0) }] },
      }),
    ])
    expect(all('receive')).toEqual([expect.objectContaining({ qpNum: b.qp.number, wrId: '0x8', length: 16 })])
    expect(all('completion')).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ wrId: '0x8000000000000000', status: 'IBV_WC_SUCCESS', opcode: 'IBV_WC_SEND' }),
        expect.objectContaining({ wrId: '0x8', opcode: 'IBV_WC_RECV', byteLen: 16, imm: expect.stringMatching(/^0x/) }),
      ]),
    )
    expect(reasons()).toEqual([])
  })

  it('in a state that takes none wait, and that is said', () => {
    const { a } = begin({ connected: false })
    v.postSend(a.program, a.qp, { wrId: 1n, opcode: 2, sges: [v.sge(a.mr, 0, 8)] })
    expect(all('note').map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/^ibv_post_send: queue pair 0x[0-9a-f]+ is in RESET, and requests are posted from RTS on/),
    ])
    expect(all('request')).toEqual([])
  })

  const at = (p: Pair, offset: number, rkey = p.b.mr.rkey): v.SendWr => ({
    ...{ wrId: 7n, opcode: 0, remote: { addr: p.b.mr.addr + offset, rkey } },
    sges: [v.sge(p.a.mr, 0, 64)],
  })
  const cases: [string, PairOptions, (p: Pair) => v.SendWr, RegExp][] = [
    [
      'bounds',
      {},
      (p) => at(p, 8180),
      /remote access error: 64 bytes at 0x[0-9a-f]+ with rkey 0x[0-9a-f]+: its region has the 8192 bytes from 0x/,
    ],
    ['a key that nothing has', {}, (p) => at(p, 0, 0x1234), /with rkey 0x1234: nothing has this key/],
    [
      'a local key',
      {},
      (p) => ({ ...at(p, 0), sges: [{ addr: p.a.mr.addr, length: 8, lkey: 0x77 }] }),
      /local protection error: sg_list\[0\] is 8 bytes at 0x[0-9a-f]+ with lkey 0x77: nothing has this key/,
    ],
    [
      'no receive',
      { rnr: 0 },
      (p) => ({ ...at(p, 0), opcode: 2 }),
      /RNR retry exceeded: queue pair 0x[0-9a-f]+ had no receive posted, tried 1 time; rnr_retry is 0/,
    ],
    [
      'inline data',
      {},
      (p) => ({ ...at(p, 0), flags: 10, inline: new Uint8Array(33), sges: [] }),
      /local QP operation error: 33 bytes of inline data; the queue pair has max_inline_data \d+/,
    ],
    ['an operation', {}, (p) => ({ ...at(p, 0), opcode: 13 }), /queue pairs of type RC do not execute operation 13/],
  ]
  it.each(cases)('that failed say why: %s', (_name, options, make, reason) => {
    const p = begin(options)
    v.postSend(p.a.program, p.a.qp, make(p), { ...at(p, 0), wrId: 8n })
    expect(reasons()).toEqual([expect.stringMatching(new RegExp(`^ibv_post_send: \\S+ wr_id 0x7: .*${reason.source}`))])
    // What was flushed says nothing of itself.
    expect(all('completion').map(({ status }) => status)).toContain('IBV_WC_WR_FLUSH_ERR')
  })

  it('that are too long say how long one may be', () => {
    const { a, b } = begin({ type: 4 })
    const ud = { qpn: b.qp.number, qkey: 0x11111111, ah: v.createAh(a.program, a.pd) }
    v.postSend(a.program, a.qp, { wrId: 7n, opcode: 2, ud, sges: [v.sge(a.mr, 0, 5000)] })
    expect(reasons()).toEqual([
      expect.stringMatching(/local length error: 5000 bytes; a datagram has at most 4096, the active_mtu of the port$/),
    ])
  })

  it('of which the peer says nothing name what it has to permit', () => {
    const p = begin()
    v.postSend(p.a.program, p.a.qp, { ...at(p, 0), sges: [v.sge(p.a.mr, 0, 64)], remote: { addr: 0, rkey: 1 } })
    expect(all('event')).toEqual([
      expect.objectContaining({
        event: 'IBV_EVENT_QP_ACCESS_ERR',
        reason: expect.stringMatching(/went to ERR: the peer asked/),
      }),
    ])
  })

  it('receives of an SRQ are told with its handle, and why they failed', () => {
    const { a, b } = begin({ srqWr: 4 })
    v.postRecv(b.srq!.queue, 9n, v.sge(b.mr, 0, 8))
    v.postSend(a.program, a.qp, { wrId: 1n, opcode: 2, sges: [v.sge(a.mr, 0, 64)] })
    expect(all('receive')).toEqual([expect.objectContaining({ srq: expect.any(Number), wrId: '0x9', length: 8 })])
    expect(reasons()).toContainEqual(
      'ibv_post_srq_recv: wr_id 0x9: local length error: the message is longer than the 8 bytes of the receive',
    )
  })
})
