/**
 * Every verb as a call that a fuzzer can spoil: good arguments by name, and what is done with them. Spoilt arguments must
 * be refused with a VerbsError or lead to completions with an error, nothing else.
 */
import {
  Access,
  connectQp,
  endpointOf,
  incRkey,
  MwType,
  Opcode,
  openDevice,
  QpState,
  QpType,
  recvWr,
  SendFlag,
  type SharedReceiveQueue,
  sendWr,
  workCompletions,
} from '../../src/index.ts'
import { defaults, type End, fullAccess } from '../compliance/end.ts'
import type { Setup } from '../compliance/rig.ts'

/** What the calls work on; new for every run. */
export interface Victim {
  t: Setup
  rc: [End, End]
  ud: [End, End]
  /** In RESET. */
  fresh: End
  srq: SharedReceiveQueue
}

export function makeVictim(t: Setup): Victim {
  const rc = t.pair(QpType.RC, { connect: { rnrRetry: 1, minRnrTimer: 1, timeout: 1, retryCnt: 1 } })
  const ud = t.pair(QpType.UD)
  const fresh = t.end(0, QpType.RC)
  const srq = t.own(fresh.pd.createSrq({ maxWr: 8, maxSge: 2 }))
  return { t, rc: rc as never, ud: ud as never, fresh: fresh as never, srq }
}

/** Arguments by name; any of them, at any depth, may be spoilt. */
export type Arguments = Record<string, unknown>

export interface Verb {
  good(v: Victim): Arguments
  /** The types of the arguments are what the fuzzer makes of them. */
  // biome-ignore lint/suspicious/noExplicitAny: garbage has any type
  call(v: Victim, a: any): unknown
}

const verb = (good: Verb['good'], call: Verb['call']): Verb => ({ good, call })

const operands = { immData: 1, compareAdd: 1n, swap: 2n, invalidateRkey: 5 }
const flush = { placement: 1, selectivity: 0, flushLength: 8 }

/** Posting on a connected RC queue pair, as a literal and prepared. */
function posting(opcode: number): Record<string, Verb> {
  const good = ({ t, rc: [a, b] }: Victim) => ({
    wr: { ...a.request(opcode, b), ...operands, ...flush, ...bind(t, a, opcode) },
  })
  return {
    [`postSend ${opcode}`]: verb(good, ({ rc: [a] }, { wr }) => a.qp.postSend(wr)),
    [`postSend ${opcode} prepared`]: verb(
      (v) => ({ wr: sendWr(good(v).wr as never) }),
      ({ rc: [a] }, { wr }) => a.qp.postSend(wr),
    ),
  }
}

function bind(t: Setup, a: End, opcode: number): object {
  if (opcode !== Opcode.BindMw) return {}
  const mw = t.own(a.pd.allocMw(MwType.Type2))
  return { bindMw: { mw, rkey: incRkey(mw.rkey), ...window(a) } }
}

function window(a: End) {
  return { mr: { lkey: a.mr.lkey }, addr: a.mr.addr, length: 64, accessFlags: Access.RemoteRead }
}

/** A transition, reached by the good ones before it. */
function transition(from: number): Verb {
  const good = (v: Victim) => {
    const ah = v.t.address(v.fresh.endpoint)
    const init = { state: QpState.Init, pkeyIndex: 0, port: 1, accessFlags: 0 }
    const rtr = { state: QpState.Rtr, ah, pathMtu: 1024, destQpNum: 77, rqPsn: 1, maxDestRdAtomic: 1, minRnrTimer: 1 }
    const rts = { state: QpState.Rts, timeout: 1, retryCnt: 1, rnrRetry: 1, sqPsn: 5, maxRdAtomic: 1 }
    return [init, rtr, rts, { state: QpState.Sqd, enSqdAsyncNotify: true }]
  }
  return verb(
    (v) => ({ attr: good(v)[from]! }),
    (v, { attr }) => {
      for (const before of good(v).slice(0, from)) v.fresh.qp.modify(before as never)
      v.fresh.qp.modify(attr)
    },
  )
}

const gid = Uint8Array.from({ length: 16 }, (_, i) => (i === 0 ? 0xff : i))

export const verbs: Readonly<Record<string, Verb>> = {
  ...posting(Opcode.Send),
  ...posting(Opcode.SendWithImm),
  ...posting(Opcode.SendWithInv),
  ...posting(Opcode.Write),
  ...posting(Opcode.WriteWithImm),
  ...posting(Opcode.Read),
  ...posting(Opcode.AtomicCmpAndSwp),
  ...posting(Opcode.AtomicFetchAndAdd),
  ...posting(Opcode.AtomicWrite),
  ...posting(Opcode.Flush),
  ...posting(Opcode.LocalInv),
  ...posting(Opcode.BindMw),
  'postSend inline': verb(
    ({ rc: [a, b] }) => ({
      wr: a.request(Opcode.Write, b, { sendFlags: SendFlag.Inline, sgList: [a.sge(0, 8), a.sge(8, 8)] }),
    }),
    ({ rc: [a] }, { wr }) => a.qp.postSend(wr),
  ),
  'postSend prepared gather': verb(
    ({ rc: [a, b] }) => ({ wr: sendWr(a.request(Opcode.Write, b, { sgList: [a.sge(0, 8), a.sge(8, 800)] }) as never) }),
    ({ rc: [a] }, { wr }) => a.qp.postSend(wr),
  ),
  'postSend datagram': verb(
    ({ t, ud: [a, b] }) => ({ wr: a.request(Opcode.Send, null, a.datagram(t, b)) }),
    ({ ud: [a, b] }, { wr }) => {
      b.recv(1, 0, 2048)
      a.qp.postSend(wr)
    },
  ),
  'postSend datagram prepared': verb(
    ({ t, ud: [a, b] }) => ({
      wr: sendWr(a.request(Opcode.SendWithImm, null, { ...a.datagram(t, b), immData: 1 }) as never),
    }),
    ({ ud: [a, b] }, { wr }) => {
      b.recv(1, 0, 2048)
      a.qp.postSend(wr)
    },
  ),
  postRecv: verb(
    ({ rc: [, b] }) => ({ wr: { wrId: 1, sgList: [b.sge(0, 8), b.sge(8, 2048)], next: { wrId: 2 } } }),
    ({ rc: [a, b] }, { wr }) => {
      b.qp.postRecv(wr)
      a.post(Opcode.Send, b)
    },
  ),
  'postRecv prepared': verb(
    ({ rc: [, b] }) => ({ wr: recvWr({ wrId: 1, sgList: [b.sge(0, 8), b.sge(8, 2048)] }) }),
    ({ rc: [a, b] }, { wr }) => {
      b.qp.postRecv(wr)
      a.post(Opcode.Send, b)
    },
  ),
  'srq.postRecv': verb(
    ({ fresh }) => ({ wr: { wrId: 1, sgList: [fresh.sge()] } }),
    ({ srq }, { wr }) => srq.postRecv(wr),
  ),
  bindMw: verb(
    ({ t, rc: [a] }) => ({
      mw: t.own(a.pd.allocMw(MwType.Type1)),
      info: window(a),
      options: { wrId: 1, sendFlags: 0 },
    }),
    ({ rc: [a] }, { mw, info, options }) => a.qp.bindMw(mw, info, options),
  ),
  builder: verb(
    ({ rc: [a, b] }) => ({
      wrId: 1,
      wrFlags: 2,
      rkey: b.mr.rkey,
      addr: b.mr.addr,
      compare: 1n,
      swap: 2n,
      sge: a.sge(0, 8),
    }),
    ({ rc: [a] }, g) => {
      const { wr } = a.qp
      wr.start()
      wr.wrId = g.wrId
      wr.wrFlags = g.wrFlags
      wr.atomicCmpSwp(g.rkey, g.addr, g.compare, g.swap)
      wr.setSge(g.sge?.lkey, g.sge?.addr, g.sge?.length)
      wr.rdmaWrite(g.rkey, g.addr)
      wr.setSgeList([g.sge, a.sge(0, 16)])
      wr.complete()
    },
  ),
  'modify to INIT': transition(0),
  'modify to RTR': transition(1),
  'modify to RTS': transition(2),
  'modify to SQD': transition(3),
  connectQp: verb(
    ({ fresh, rc: [, b] }) => ({
      local: { ...fresh.endpoint },
      remote: { ...b.endpoint },
      options: { ...defaults.connect },
    }),
    ({ fresh }, { local, remote, options }) => connectQp(fresh.qp, local, remote, options),
  ),
  endpointOf: verb(
    () => ({ psn: 1, gidIndex: 0 }),
    ({ fresh }, options) => endpointOf(fresh.qp, options),
  ),
  openDevice: verb(
    () => ({ name: 'shm0', options: { engine: 'poster' } }),
    (_v, { name, options }) => openDevice(name, options),
  ),
  createCq: verb(
    () => ({ cqe: 16, init: { compVector: 0, singleThreaded: false } }),
    ({ fresh }, { cqe, init }) => fresh.context.createCq(cqe, init),
  ),
  resize: verb(
    () => ({ cqe: 16 }),
    ({ fresh }, { cqe }) => fresh.sendCq.resize(cqe),
  ),
  ackEvents: verb(
    () => ({ count: 0 }),
    ({ fresh }, { count }) => fresh.sendCq.ackEvents(count),
  ),
  poll: verb(
    () => ({ max: 2 }),
    ({ rc: [a, b] }, { max }) => {
      for (let i = 0; i < 4; i++) a.post(Opcode.Write, b)
      a.sendCq.poll(workCompletions(2), max)
    },
  ),
  createQp: verb(
    ({ fresh: { sendCq, recvCq } }) => ({
      init: { type: QpType.RC, sendCq, recvCq, cap: { ...defaults.cap }, sqSigAll: false },
    }),
    ({ fresh }, { init }) => fresh.pd.createQp(init),
  ),
  createSrq: verb(
    () => ({ init: { maxWr: 8, maxSge: 2, srqLimit: 0 } }),
    ({ fresh }, { init }) => fresh.pd.createSrq(init),
  ),
  'srq.modify': verb(
    () => ({ attr: { maxWr: 16, srqLimit: 1 } }),
    ({ srq }, { attr }) => srq.modify(attr),
  ),
  regMr: verb(
    ({ fresh }) => ({ buffer: { addr: fresh.mr.addr, length: 64 }, access: fullAccess, options: { iova: 4096 } }),
    ({ fresh }, { buffer, access, options }) => fresh.pd.regMr(buffer, access, options),
  ),
  rereg: verb(
    ({ fresh }) => ({ flags: 5, changes: { buffer: { addr: fresh.mr.addr, length: 64 }, access: fullAccess } }),
    ({ fresh }, { flags, changes }) => fresh.mr.rereg(flags, changes),
  ),
  allocMw: verb(
    () => ({ type: MwType.Type1 }),
    ({ fresh }, { type }) => fresh.pd.allocMw(type),
  ),
  createAh: verb(
    ({ t, ud: [, b] }) => ({ attr: { ...t.address(b.endpoint), sl: 0, srcPathBits: 0, staticRate: 0 } }),
    ({ ud: [a] }, { attr }) => a.pd.createAh(attr),
  ),
  createAhFromWc: verb(
    () => ({ port: 1, wc: { ...workCompletions(1)[0], wcFlags: 1, srcQp: 5 }, grh: new Uint8Array(40) }),
    ({ ud: [a] }, { port, wc, grh }) => a.pd.createAhFromWc(port, wc, grh),
  ),
  multicast: verb(
    () => ({ gid, lid: 1 }),
    ({ ud: [a] }, g) => {
      a.qp.attachMcast(g.gid, g.lid)
      a.qp.detachMcast(g.gid, g.lid)
    },
  ),
  queries: verb(
    () => ({ port: 1, index: 0, pkey: 0xffff }),
    ({ fresh: { context } }, { port, index, pkey }) => {
      context.queryPort(port)
      context.queryGid(port, index)
      context.queryGidEx(port, index)
      context.queryPkey(port, index)
      context.getPkeyIndex(port, pkey)
    },
  ),
  'alloc and free': verb(
    () => ({ bytes: 4096 }),
    ({ fresh: { context } }, { bytes }) => {
      // Gigabytes that exist would only take long.
      if (typeof bytes !== 'number' || bytes < 2 ** 26 || bytes > 2 ** 40) context.free(context.alloc(bytes))
    },
  ),
  free: verb(
    () => ({ buffer: new Uint8Array(8) }),
    ({ fresh: { context } }, { buffer }) => context.free(buffer),
  ),
  view: verb(
    ({ fresh }) => ({ addr: fresh.mr.addr, length: 8 }),
    ({ fresh: { context } }, { addr, length }) => void context.view(addr, length),
  ),
  imports: verb(
    ({ rc: [a], srq }) => ({
      handles: {
        importQp: a.qp.handle,
        importCq: a.sendCq.handle,
        importMr: a.mr.handle,
        importSrq: srq.handle,
        importPd: a.pd.handle,
      },
    }),
    ({ fresh: { context } }, { handles }) => {
      for (const verb of ['importQp', 'importCq', 'importMr', 'importSrq', 'importPd'] as const) {
        context[verb](handles?.[verb]).close()
      }
    },
  ),
}
