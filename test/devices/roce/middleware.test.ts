/** Two adapters under middleware, on real sockets: what arrives is intact, and file, lines and counters agree. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { fileSource } from '../../../src/files/index.ts'
import {
  type Context,
  connectQp,
  endpointOf,
  type FaultRates,
  faults,
  nativeAvailable,
  Opcode,
  openDevice,
  SendFlag,
  sendWr,
  tap,
  trace,
  WcStatus,
  type Wrap,
} from '../../../src/index.ts'
import { checkCapture } from '../../../src/trace/index.ts'
import { loopbackDevice } from '../../loopback.ts'
import { access, drain, makeEnd, until } from '../shm/rig.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-middleware-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const messageBytes = 20_000
const messages = 12

interface Counted {
  a: Record<string, number>
  b: Record<string, number>
}

/** Whether what one has sent has come to the other, as far as the counters since the beginning tell. */
type Arrived = (counted: Counted) => boolean

/** What was counted once nothing is outstanding any more: acknowledgements may follow what completed. */
async function quiet(count: () => Counted, arrived: Arrived): Promise<Counted> {
  let last = ''
  for (let same = 0; ; ) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    const counted = count()
    const now = JSON.stringify(counted)
    same = now === last && arrived(counted) ? same + 1 : 0
    last = now
    if (same === 10) return counted
  }
}

/** WRITEs from a to b and READs back, both wrapped; what each has counted since before. */
async function traffic(wrapA: Wrap[], wrapB: Wrap[], arrived: Arrived = () => true): Promise<Counted> {
  const [a, b] = [openDevice(loopbackDevice(1), { wrap: wrapA }), openDevice(loopbackDevice(2), { wrap: wrapB })]
  const before = [a.counters(), b.counters()]
  const options = { slots: 64, bytes: messages * messageBytes }
  const [x, y] = [makeEnd(a, options), makeEnd(b, options)]
  try {
    const [toX, toY] = [endpointOf(x.qp), endpointOf(y.qp)]
    // 134 ms: an end that gets no processor for a second still has retries left.
    const connection = { accessFlags: access, timeout: 15, retryCnt: 7 }
    connectQp(x.qp, toX, toY, connection)
    connectQp(y.qp, toY, toX, connection)
    for (let i = 0; i < x.buffer.length; i++) x.buffer[i] = (i * 7) ^ (i >> 8)
    const expected = x.buffer.slice()
    for (const opcode of [Opcode.Write, Opcode.Read] as const) {
      const completions: { wrId: number; status: number }[] = []
      for (let wrId = 0; wrId < messages; wrId++)
        x.qp.postSend(
          sendWr({
            opcode,
            wrId,
            sendFlags: SendFlag.Signaled,
            sgList: [x.sge(wrId * messageBytes, messageBytes)],
            remoteAddr: y.mr.addr + wrId * messageBytes,
            rkey: y.mr.rkey,
          }),
        )
      await until('completions', () => drain(x.cq, completions).length === messages)
      expect(completions).toEqual(Array.from({ length: messages }, (_, wrId) => ({ wrId, status: WcStatus.Success })))
      if (opcode === Opcode.Write) {
        expect(Buffer.compare(y.buffer, expected)).toBe(0)
        x.buffer.fill(0)
      }
    }
    expect(Buffer.compare(x.buffer, expected)).toBe(0)
    const since = (context: Context, i: number) =>
      Object.fromEntries(Object.entries(context.counters()).map(([name, value]) => [name, value - before[i]![name]!]))
    return await quiet(() => ({ a: since(a, 0), b: since(b, 1) }), arrived)
  } finally {
    // Also where something went wrong: the next test opens the same adapters.
    for (const end of [x, y]) end.close()
    for (const context of [a, b]) context.close()
  }
}

const injected = ['losses', 'duplicates', 'corruptions', 'delays', 'reorderings'].map((name) => `injected_${name}`)

describe.skipIf(!nativeAvailable)('roce under middleware', () => {
  it.each<[string, FaultRates, string[]]>([
    ['loss', { loss: 0.05 }, ['injected_losses']],
    ['duplication', { duplication: 0.1 }, ['injected_duplicates']],
    ['reordering', { reordering: 0.1 }, ['injected_reorderings']],
    ['delay', { delayMs: 0.2, jitterMs: 0.2 }, ['injected_delays']],
    ['corruption', { corruption: 0.05 }, ['injected_corruptions']],
    // Lost or damaged at two ends: of eight tries, one succeeds but in one of some million cases.
    ['all of them', { loss: 0.02, duplication: 0.05, reordering: 0.05, corruption: 0.02, jitterMs: 0.1 }, injected],
  ])('traffic arrives intact with %s', async (_, rates, names) => {
    const { a, b } = await traffic([faults({ seed: 11, ...rates })], [faults({ seed: 12, ...rates })])
    for (const name of injected) {
      if (names.includes(name)) expect(a[name]! + b[name]!, name).toBeGreaterThan(0)
      else expect(a[name]! + b[name]!, name).toBe(0)
    }
    if (rates.loss) expect(a.retransmitted_pkts! + b.retransmitted_pkts!).toBeGreaterThan(0)
    if (!rates.corruption) expect(a.icrc_errors! + b.icrc_errors!).toBe(0)
    // IBA CA17-24
    else expect(a.icrc_errors! + b.icrc_errors!).toBeGreaterThan(0)
  })

  it('the file of a tap agrees with the counters, and only what was damaged on purpose is bad in it', async () => {
    const path = join(folder, 'tap.pcapng')
    const lines: string[] = []
    // The tap of a sees what b has damaged.
    const wrapA = [trace((line) => lines.push(line)), tap(path)]
    // Of b's packets, which are sixty at least, some are damaged whatever their order is.
    const wrapB = [faults({ loss: 0.02, corruption: 0.25, direction: 'out', seed: 3 })]
    const { a, b } = await traffic(
      wrapA,
      wrapB,
      ({ a, b }) => a.sent_pkts === b.rcvd_pkts && b.sent_pkts! - b.injected_losses! === a.rcvd_pkts! + a.icrc_errors!,
    )
    const result = await checkCapture(fileSource(path))
    expect(result).toMatchObject({ damage: [], packets: result.roce })
    // Damage may make an opcode that there is not.
    expect(result.malformed.every((number) => result.icrcInvalid.includes(number))).toBe(true)
    expect(result.roce).toBe(a.sent_pkts! + a.rcvd_pkts! + a.icrc_errors!)
    expect(result.icrcInvalidCount).toBe(a.icrc_errors)
    expect(a.icrc_errors).toBe(b.injected_corruptions)
    expect(a.icrc_errors).toBeGreaterThan(0)
    // The longest of its messages, and what belongs to each packet.
    expect(b.rcvd_bytes).toBeGreaterThan(20_000 + 16 * b.rcvd_pkts!)
    expect(a.sent_bytes).toBeGreaterThanOrEqual(b.rcvd_bytes!)
    await until('lines', () => lines.length >= result.packets)
    expect(lines).toHaveLength(result.packets)
    expect(lines.filter((line) => line.includes('wrong ICRC'))).toHaveLength(result.icrcInvalidCount)
    expect(lines.some((line) => /out .* RC_\w*WRITE_FIRST .* of 20000 B/.test(line))).toBe(true)
  })

  it('is the device’s: whoever opens it later has it too, and cannot ask for another', () => {
    const first = openDevice(loopbackDevice(1), { wrap: [faults({ loss: 0.1 })] })
    const second = openDevice(loopbackDevice(1))
    expect(() => openDevice(loopbackDevice(1), { wrap: [] })).toThrow('is open already')
    expect(() => openDevice(loopbackDevice(2), { wrap: [tap(join(folder, 'none', 'x.pcapng'))] })).toThrow(
      'the tap cannot be written',
    )
    openDevice(loopbackDevice(2)).close()
    first.close()
    second.close()
  })

  it.each([
    ['begins', 'pcap', 'd4c3b2a1020004000000000000000000000004000100000000000000', false],
    ['goes on with', 'pcapng', '0a0d0d0a1c0000004d3c2b1a01000000ffffffffffffffff1c000000', true],
  ])('a tap %s a file that was written meanwhile as %s', (_, name, hex, stays) => {
    const path = join(folder, `other.${name}`)
    const written = Buffer.from(hex, 'hex')
    writeFileSync(path, written)
    openDevice(loopbackDevice(1), { wrap: [tap(path)] }).close()
    expect(readFileSync(path).indexOf(written)).toBe(stays ? 0 : -1)
  })

  it('is in force for a command through its environment', async () => {
    const path = join(folder, 'env.pcapng')
    const script = join(folder, 'env.mjs')
    writeFileSync(
      script,
      `import { openDevice } from ${JSON.stringify(new URL('../../../dist/index.js', import.meta.url).href)}
       import { QpType, connectQp, endpointOf, Opcode, sendWr, recvWr, workCompletions } from ${JSON.stringify(new URL('../../../dist/index.js', import.meta.url).href)}
       const ends = process.argv.slice(2).map((name) => {
         const context = openDevice(name)
         const pd = context.allocPd()
         const cq = context.createCq(8)
         const mr = pd.regMr(context.alloc(4096), 15)
         const cap = { maxSendWr: 4, maxRecvWr: 4, maxSendSge: 1, maxRecvSge: 1, maxInlineData: 0 }
         const qp = pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq, cap })
         return { context, cq, mr, qp, endpoint: endpointOf(qp) }
       })
       const [a, b] = ends
       connectQp(a.qp, a.endpoint, b.endpoint, { timeout: 21 })
       connectQp(b.qp, b.endpoint, a.endpoint, { timeout: 21 })
       b.qp.postRecv(recvWr({ wrId: 1, sgList: [{ addr: b.mr.addr, length: 64, lkey: b.mr.lkey }] }))
       a.qp.postSend(sendWr({ opcode: Opcode.Send, wrId: 2, sendFlags: 2, sgList: [{ addr: a.mr.addr, length: 64, lkey: a.mr.lkey }] }))
       const wc = workCompletions(1)
       for (const { cq } of ends) while (cq.poll(wc, 1) === 0);
       // It ends without closing anything: the file is complete all the same.
       process.exit(0)`,
    )
    const env = { ...process.env, VERBENA_TAP: path, VERBENA_TRACE: '1', VERBENA_FAULTS: 'delay=1ms' }
    const stdio: ['ignore', 'ignore', 'pipe'] = ['ignore', 'ignore', 'pipe']
    execFileSync(process.execPath, [script, loopbackDevice(5), loopbackDevice(6)], { env, stdio })
    const result = await checkCapture(fileSource(path))
    // A SEND and its ACK, each on two interfaces; on a machine that does much else they may be sent again.
    expect(result).toMatchObject({ roce: result.packets, icrcInvalid: [], malformed: [], damage: [] })
    expect(result.packets).toBeGreaterThanOrEqual(4)
    expect(result.interfaces.map(({ name }) => name)).toEqual([loopbackDevice(5), loopbackDevice(6)])
  })
})
