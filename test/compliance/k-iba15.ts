/** Group K of the conformance list: FLUSH and ATOMIC WRITE of InfiniBand 1.5. */
import { expect } from 'vitest'
import { Access, FlushPlacement, FlushSelectivity, Opcode, QpType } from '../../src/index.ts'
import { defaults, fullAccess, isZero, read64, write64 } from './end.ts'
import { expectThrow, type Group, refusedOr } from './rig.ts'

const range = { placement: FlushPlacement.Global, selectivity: FlushSelectivity.Range, flushLength: 1024 }
const connect = { accessFlags: defaults.connect.accessFlags! | Access.FlushGlobal }
const flushable = { connect, access: fullAccess | Access.FlushGlobal }

export const groupK: Group = (it) => {
  // IBA A19.4.1.2
  it('108 flush of a range, and of a whole region', async (t) => {
    const [a, b] = t.pair(QpType.RC, flushable)
    expect(await t.run(a, Opcode.Write, b)).toMatchObject({ status: 'Success' })
    expect(await t.run(a, Opcode.Flush, b, range)).toMatchObject({ status: 'Success', opcode: 'Flush' })
    const whole = { ...range, selectivity: FlushSelectivity.Mr }
    expect(await t.run(a, Opcode.Flush, b, whole)).toMatchObject({ status: 'Success', opcode: 'Flush' })
    // Address and length say nothing when the whole region is meant.
    expect(await t.run(a, Opcode.Flush, b, { ...whole, remoteAddr: 0, flushLength: 0 })).toMatchObject({
      status: 'Success',
    })
  })

  it('108 a flush of a range out of the region, or with a bad rkey, is REM_ACCESS_ERR', async (t) => {
    for (const fields of [{ remoteOffset: 16384 - 1023 }, { remoteOffset: -1 }, { rkey: 0x1234 }]) {
      const [a, b] = t.pair(QpType.RC, flushable)
      expect(await t.run(a, Opcode.Flush, b, { ...range, ...fields })).toMatchObject({ status: 'RemAccessErr' })
    }
  })

  // IBA oA19-13
  it('109 a flush that the region does not allow is REM_ACCESS_ERR', async (t) => {
    const [a, b] = t.pair(QpType.RC, { ...flushable, access: fullAccess })
    expect(await t.run(a, Opcode.Flush, b, range)).toMatchObject({ status: 'RemAccessErr' })
  })

  // IBA A19.4.1.1
  it('109 a flush to persistence of a region for global visibility is REM_ACCESS_ERR', async (t) => {
    const accessFlags = connect.accessFlags | Access.FlushPersistent
    const [a, b] = t.pair(QpType.RC, { ...flushable, connect: { accessFlags } })
    const fields = { ...range, placement: FlushPlacement.Persistent }
    expect(await t.run(a, Opcode.Flush, b, fields)).toMatchObject({ status: 'RemAccessErr' })
  })

  it('109 a flush that the QP does not allow is REM_INV_REQ_ERR or REM_ACCESS_ERR', async (t) => {
    const [a, b] = t.pair(QpType.RC, { access: flushable.access })
    const { status } = await t.run(a, Opcode.Flush, b, range)
    expect(['RemInvReqErr', 'RemAccessErr']).toContain(status)
  })

  it('109 a flush without a placement is EINVAL', (t) => {
    const [a, b] = t.pair(QpType.RC, flushable)
    expectThrow('EINVAL', () => a.post(Opcode.Flush, b, { ...range, placement: 0 }))
    expectThrow('EINVAL', () => a.post(Opcode.Flush, b, { ...range, selectivity: 3 }))
  })

  it('110 an atomic write of 8 bytes', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    write64(a.buffer, 16, 0x1122334455667788n)
    const wc = await t.run(a, Opcode.AtomicWrite, b, { offset: 16, remoteOffset: 40 })
    expect(wc).toMatchObject({ status: 'Success', opcode: 'AtomicWrite' })
    expect([read64(b.buffer, 32), read64(b.buffer, 40), read64(b.buffer, 48)]).toEqual([0n, 0x1122334455667788n, 0n])
  })

  // IBA A19.4.2
  it('110 an atomic write that is not aligned is REM_INV_REQ_ERR, without the right or key REM_ACCESS_ERR', async (t) => {
    for (const [status, fields, access] of [
      ['RemInvReqErr', { remoteOffset: 4 }, fullAccess],
      ['RemAccessErr', { rkey: 77 }, fullAccess],
      ['RemAccessErr', {}, fullAccess & ~Access.RemoteWrite],
      ['LocProtErr', { sgList: [{ addr: 8, length: 8, lkey: 1 }] }, fullAccess],
    ] as const) {
      const [a, b] = t.pair(QpType.RC, { b: { access } })
      write64(a.buffer, 0, 1n)
      expect(await t.run(a, Opcode.AtomicWrite, b, fields)).toMatchObject({ status })
      expect(isZero(b.buffer)).toBe(true)
    }
  })

  it('110 an atomic write of a length that is not 8 is LOC_LEN_ERR or EINVAL', async (t) => {
    for (const length of [0, 4, 16]) {
      const [a, b] = t.pair(QpType.RC)
      const status = await refusedOr(() => t.run(a, Opcode.AtomicWrite, b, { length }))
      expect(['refused', 'LocLenErr']).toContain(status)
    }
  })
}
