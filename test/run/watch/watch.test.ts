/** What becomes of records: sentences said once, lines of a trace, counts. */
import { describe, expect, it } from 'vitest'
import { Counting } from '../../../src/run/watch/counting.ts'
import { countsTable } from '../../../src/run/watch/counts-table.ts'
import { Explainer } from '../../../src/run/watch/explainer.ts'
import type { CmEventRecord, CommandRecord, CompletionRecord, MadRecord } from '../../../src/run/watch/index.ts'
import { programName } from '../../../src/run/watch/names.ts'
import { clock, textOf } from '../../../src/run/watch/text.ts'

const base = { timeUs: 1_700_000_000_123_456, pid: 7, program: 'a.out', device: 'rxe0' }
const command: CommandRecord = {
  ...{ ...base, type: 'command', verb: 'ibv_create_cq', durationUs: 10 },
  ...{ args: { cqe: 16 }, result: { cq: 1, cqe: 31 } },
}
const completion: CompletionRecord = {
  ...{ ...base, type: 'completion', cq: 1, qpNum: 0x11, wrId: '0x1', status: 'IBV_WC_SUCCESS' },
  ...{ opcode: 'IBV_WC_RECV', byteLen: 8 },
}

const cmEvent: CmEventRecord = {
  ...{ ...base, device: 'rdma_cm', type: 'cm-event', event: 'RDMA_CM_EVENT_CONNECT_REQUEST' },
  ...{ id: 3, listenId: 1, status: 0, privateDataLength: 56 },
}
const sentMad: MadRecord = {
  ...{ ...base, type: 'mad', direction: 'sent', name: 'SubnGet(NodeInfo)', mgmtClass: 1, method: 1, attributeId: 17 },
  ...{ transactionId: '0x7', status: 0, lid: 2, qpNum: 0, length: 256 },
}

describe('the explainer', () => {
  it('says each sentence once for each program, and at the end how often it came', () => {
    const lines: string[] = []
    const explainer = new Explainer((line) => lines.push(line))
    const [one, other] = [
      { pid: 1, program: 'x' },
      { pid: 2, program: 'x' },
    ]
    for (let i = 0; i < 3; i++) explainer.explain(one, 'ibv_modify_qp: no')
    explainer.explain(other, 'ibv_modify_qp: no')
    expect(lines).toEqual(['x[1]: ibv_modify_qp: no', 'x[2]: ibv_modify_qp: no'])
    explainer.end()
    expect(lines.slice(2)).toEqual(['x[1]: 3 times: ibv_modify_qp: no'])
  })

  it('says of sentences that differ in numbers a few, and that there were others', () => {
    const lines: string[] = []
    const explainer = new Explainer((line) => lines.push(line))
    for (let i = 0; i < 100; i++) explainer.explain({ pid: 1, program: 'x' }, `wr_id 0x${i.toString(16)} is wrong`)
    explainer.end()
    expect(lines).toEqual(
      [0, 1, 2].map((i) => `x[1]: wr_id 0x${i} is wrong`).concat('x[1]: 97 more like: wr_id 0x2 is wrong'),
    )
  })
})

describe('the text of a trace', () => {
  it('is as strace writes calls', () => {
    const time = clock(base.timeUs)
    expect(time).toMatch(/^\d\d:\d\d:20\.123456$/)
    expect(textOf(command)).toBe(`${time} a.out[7] ibv_create_cq(cqe=16) = cq=1, cqe=31`)
    const failed = { ...command, errno: 'EINVAL', reason: 'ibv_create_cq: cqe is 16' }
    expect(textOf(failed)).toBe(`${time} a.out[7] ibv_create_cq(cqe=16) = -1 EINVAL (cqe is 16)`)
    expect(textOf({ ...completion, lost: true })).toBe(
      `${time} a.out[7]   cq 1 gets qp 0x000011 wr_id=0x1 IBV_WC_SUCCESS IBV_WC_RECV byte_len=8, dropped: the queue is full`,
    )
  })

  it('has events of the RDMA CM and management datagrams', () => {
    const time = clock(base.timeUs)
    expect(textOf(cmEvent)).toBe(
      `${time} a.out[7]   event RDMA_CM_EVENT_CONNECT_REQUEST id=3 listen_id=1 status=0 private_data_len=56`,
    )
    expect(textOf({ ...cmEvent, status: 8, reason: 'no' })).toMatch(/ status=8 private_data_len=56 \(no\)$/)
    expect(textOf(sentMad)).toBe(`${time} a.out[7]   sends SubnGet(NodeInfo) tid=0x7 status=0x0 lid=2 qp=0 length=256`)
    expect(textOf({ ...sentMad, direction: 'unanswered', lid: 0xffff, route: '0,1', reason: 'no' })).toMatch(
      / {2}has no response to SubnGet\(NodeInfo\) tid=0x7 status=0x0 route=0,1 lid=65535 qp=0 length=256 \(no\)$/,
    )
  })

  it('leaves the end of long results out', () => {
    const result = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`f${i}`, i]))
    expect(textOf({ ...command, result })).toMatch(/f7=7, …$/)
  })
})

describe('counts', () => {
  it('are of each program and of each adapter', () => {
    const counting = new Counting()
    counting.add(command)
    counting.add({ ...command, errno: 'EINVAL', reason: 'no' })
    counting.add({ ...command, errno: 'ENOSPC', reason: 'asks', expected: true })
    counting.add(completion)
    counting.add({ ...completion, status: 'IBV_WC_REM_ACCESS_ERR', pid: 8 })
    counting.add({ ...completion, status: 'IBV_WC_WR_FLUSH_ERR', pid: 8, lost: true })
    expect(counting.programs).toEqual([
      expect.objectContaining({
        pid: 7,
        commands: 3,
        failures: 1,
        completions: 1,
        received: 1,
        receivedBytes: 8,
        errors: 0,
      }),
      expect.objectContaining({ pid: 8, commands: 0, completions: 1, errors: 1, drops: 1, received: 0 }),
    ])
    const adapters = [{ ...counting.ofAdapter('rxe0'), name: 'rxe0', device: 'shm:run', counters: { local_errors: 2 } }]
    const table = countsTable({ type: 'counters', timeUs: 0, adapters, programs: counting.programs })
    expect(table).toEqual([
      expect.stringMatching(/^ +commands +failures +requests +bytes +received +bytes +completions +errors +drops$/),
      expect.stringMatching(/^a.out\[7\] +3 +1 +0 +0 +1 +8 +1 +0 +0$/),
      expect.stringMatching(/^a.out\[8\] +0 +0 +0 +0 +0 +0 +1 +1 +1$/),
      expect.stringMatching(/^rxe0 \(shm:run\) +3 +1 +0 +0 +1 +8 +2 +1 +1$/),
      'rxe0 has counted: local_errors 2',
    ])
  })

  it('of the RDMA CM and of management are shown where there are any', () => {
    const counting = new Counting()
    counting.add(command)
    counting.add(cmEvent)
    counting.add({ ...cmEvent, reason: 'no' })
    const table = (): string[] =>
      countsTable({ type: 'counters', timeUs: 0, adapters: [], programs: counting.programs })
    expect(table()).toEqual([
      expect.stringMatching(/completions +CM events +errors +drops$/),
      expect.stringMatching(/^a.out\[7\] +1 +0 +0 +0 +0 +0 +0 +2 +1 +0$/),
    ])
    counting.add(sentMad)
    counting.add({ ...sentMad, direction: 'received', reason: 'no' })
    counting.add({ ...sentMad, direction: 'unanswered', reason: 'no' })
    expect(table()).toEqual([
      expect.stringMatching(/completions +CM events +MADs +received +errors +drops$/),
      expect.stringMatching(/^a.out\[7\] +1 +0 +0 +0 +0 +0 +0 +2 +1 +1 +3 +0$/),
    ])
  })

  it('have the programs of a run that starts very many together', () => {
    const counting = new Counting()
    for (let pid = 1; pid <= 2000; pid++) counting.add({ ...command, pid })
    expect(counting.programs).toHaveLength(1025)
    expect(counting.programs.at(-1)).toMatchObject({ pid: 0, program: 'others', commands: 976 })
  })
})

it('a program is called as its file', () => {
  expect(programName(process.pid)).toMatch(/^node/)
  expect(programName(2 ** 30)).toBe('process')
})
