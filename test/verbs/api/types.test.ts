/**
 * What the types refuse. The lines marked `@ts-expect-error` are judged by `npm run types`: there each must be an error,
 * and everything else none. Nothing here runs.
 */
import { expect, it } from 'vitest'
import {
  type AddressHandle,
  type MemoryWindow,
  Opcode,
  PathMigState,
  QpState,
  type QpType,
  type QueuePair,
  type SendWrInit,
} from '../../../src/index.ts'

declare const rc: QueuePair<typeof QpType.RC>
declare const uc: QueuePair<typeof QpType.UC>
declare const ud: QueuePair<typeof QpType.UD>
declare const mw: MemoryWindow
const remote = { remoteAddr: 0, rkey: 0 }
const to = { ah: null as unknown as AddressHandle, remoteQpn: 1, remoteQkey: 1 }

const attributes: (() => void)[] = [
  () => ud.modify({ state: QpState.Init, pkeyIndex: 0, port: 1, qkey: 1 }),
  () => uc.modify({ state: QpState.Rtr, pathMtu: 1024, destQpNum: 1, rqPsn: 0, pathMigState: PathMigState.Armed }),
  () => rc.modify({ state: QpState.Rts, timeout: 1, retryCnt: 1, rnrRetry: 1, sqPsn: 0, maxRdAtomic: 1 }),
  // @ts-expect-error UD has no receive PSN
  () => ud.modify({ rqPsn: 0 }),
  // @ts-expect-error UD has no path MTU
  () => ud.modify({ pathMtu: 1024 }),
  // @ts-expect-error UD has no destination
  () => ud.modify({ destQpNum: 1 }),
  // @ts-expect-error UD has no remote access
  () => ud.modify({ accessFlags: 1 }),
  // @ts-expect-error UD has no address vector
  () => ud.modify({ ah: { dlid: 1 } }),
  // @ts-expect-error UD has no timeout
  () => ud.modify({ timeout: 1 }),
  // @ts-expect-error UC has no timeout
  () => uc.modify({ timeout: 1 }),
  // @ts-expect-error UC does not retry
  () => uc.modify({ retryCnt: 1 }),
  // @ts-expect-error UC knows no RNR
  () => uc.modify({ minRnrTimer: 1 }),
  // @ts-expect-error UC has no READ
  () => uc.modify({ maxRdAtomic: 1 }),
  // @ts-expect-error UC has no Q_Key
  () => uc.modify({ qkey: 1 }),
  // @ts-expect-error RC has no Q_Key
  () => rc.modify({ qkey: 1 }),
  // @ts-expect-error no such MTU
  () => rc.modify({ pathMtu: 1500 }),
  // @ts-expect-error no such state
  () => rc.modify({ state: 9 }),
]

const requests: (() => void)[] = [
  () => rc.postSend({ opcode: Opcode.Read, ...remote }),
  () => rc.postSend({ opcode: Opcode.AtomicCmpAndSwp, compareAdd: 0n, swap: 1n, ...remote }),
  () => uc.postSend({ opcode: Opcode.Write, ...remote }),
  () => uc.postSend({ opcode: Opcode.WriteWithImm, immData: 1, ...remote }),
  () => ud.postSend({ opcode: Opcode.SendWithImm, immData: 1, ...to }),
  // @ts-expect-error no READ on UC
  () => uc.postSend({ opcode: Opcode.Read, ...remote }),
  // @ts-expect-error no atomics on UC
  () => uc.postSend({ opcode: Opcode.AtomicFetchAndAdd, compareAdd: 1n, ...remote }),
  // @ts-expect-error no ATOMIC_WRITE on UC
  () => uc.postSend({ opcode: Opcode.AtomicWrite, ...remote }),
  // @ts-expect-error no FLUSH on UC
  () => uc.postSend({ opcode: Opcode.Flush, flushLength: 1, placement: 1, selectivity: 0, ...remote }),
  // @ts-expect-error no WRITE on UD
  () => ud.postSend({ opcode: Opcode.Write, ...remote, ...to }),
  // @ts-expect-error no READ on UD
  () => ud.postSend({ opcode: Opcode.Read, ...remote, ...to }),
  // @ts-expect-error no SEND_WITH_INV on UD
  () => ud.postSend({ opcode: Opcode.SendWithInv, invalidateRkey: 1, ...to }),
  // @ts-expect-error UD needs an address handle
  () => ud.postSend({ opcode: Opcode.Send, remoteQpn: 1, remoteQkey: 1 }),
  // @ts-expect-error UD needs the QP number
  () => ud.postSend({ opcode: Opcode.Send, ah: to.ah, remoteQkey: 1 }),
  // @ts-expect-error UD needs the Q_Key
  () => ud.postSend({ opcode: Opcode.Send, ah: to.ah, remoteQpn: 1 }),
  // @ts-expect-error the immediate is missing
  () => rc.postSend({ opcode: Opcode.SendWithImm }),
  // @ts-expect-error the immediate is missing
  () => rc.postSend({ opcode: Opcode.WriteWithImm, ...remote }),
  // @ts-expect-error the key to invalidate is missing
  () => rc.postSend({ opcode: Opcode.SendWithInv }),
  // @ts-expect-error the remote address is missing
  () => rc.postSend({ opcode: Opcode.Write, rkey: 1 }),
  // @ts-expect-error the remote key is missing
  () => rc.postSend({ opcode: Opcode.Read, remoteAddr: 1 }),
  // @ts-expect-error the operand is missing
  () => rc.postSend({ opcode: Opcode.AtomicFetchAndAdd, ...remote }),
  // @ts-expect-error operands are bigints
  () => rc.postSend({ opcode: Opcode.AtomicFetchAndAdd, compareAdd: 1, ...remote }),
  // @ts-expect-error the swap value is missing
  () => rc.postSend({ opcode: Opcode.AtomicCmpAndSwp, compareAdd: 1n, ...remote }),
  // @ts-expect-error what to bind is missing
  () => rc.postSend({ opcode: Opcode.BindMw, bindMw: { mw, rkey: 1 } }),
  // @ts-expect-error a list of UC requests has no READ either
  () => uc.postSend({ opcode: Opcode.Send, next: { opcode: Opcode.Read, ...remote } }),
  // @ts-expect-error an opcode that is none
  () => rc.postSend({ opcode: 99 }),
]

// @ts-expect-error a request for UD does not do for UC
const wrong: SendWrInit<typeof QpType.UC> = { opcode: Opcode.Read, ...remote }

it('types are judged by npm run types', () => {
  expect([...attributes, ...requests, wrong].length).toBeGreaterThan(40)
})
