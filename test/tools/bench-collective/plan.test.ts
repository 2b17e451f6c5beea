/** What `verbena bench collective` measures: names of Viertel (2006), lists, and what cannot be. */
import { describe, expect, it } from 'vitest'
import { type DeviceFacts, planCollective } from '../../../src/tools/bench-collective/plan.ts'
import { readTimes } from '../../../src/tools/bench-collective/scenario-read.ts'
import { parseCollectiveLists } from '../../../src/tools/bench-collective/settings.ts'
import type { GivenOptions } from '../../../src/tools/bench-kit/index.ts'

const shm: DeviceFacts = { mtu: 4096, maxMessage: 1 << 30, noMulticast: '' }

const planOf = (given: GivenOptions, ranks = 4, facts = shm) =>
  planCollective(parseCollectiveLists(given, 65_536), ranks, new Map([['shm:lab', facts]]))

const settingsOf = (given: GivenOptions, ranks?: number, facts?: DeviceFacts) =>
  planOf(given, ranks, facts).sets.map(({ settings }) => settings)

describe('lists', () => {
  it('are spelled as in the seed or shorter, in any case', () => {
    const lists = parseCollectiveLists(
      {
        transport: ['tran_mc,rc'],
        mode: ['RDMAW', 'write-with-imm,MODE_RDMAR'],
        measure: ['rtt,MEA_SENDCOMPLETE_TIME,post-sr,RDMART_1N,send-time'],
        size: ['8,1'],
      },
      1024,
    )
    expect(lists).toMatchObject({
      ...{ transport: ['multicast', 'RC'], mode: ['WRITE', 'WRITE_IMM', 'READ'], size: [8, 1] },
      measure: ['MEA_RTT_TIME', 'MEA_SENDCOMPLETE_TIME', 'MEA_POST_SR_CPU_OVERHEAD', 'RDMART_1N', 'MEA_SEND_TIME'],
    })
  })

  it('of sizes double from one byte to MEMSIZE', () => {
    expect(parseCollectiveLists({}, 64).size).toEqual([1, 2, 4, 8, 16, 32, 64])
    expect(parseCollectiveLists({}, 100).size).toEqual([1, 2, 4, 8, 16, 32, 64, 100])
    expect(parseCollectiveLists({}, 1).size).toEqual([1])
  })

  it.each([
    [{ transport: ['RD'] }, /--transport: 'RD' is not valid/],
    [{ measure: ['MEA_BANDWIDTH'] }, /--measure: .*MEA_RTT_TIME/],
    [{ size: ['0'] }, /--size/],
    [{ repetitions: ['100001'] }, /from 1 to 100000/],
  ])('%o is wrong', (given, message) => expect(() => parseCollectiveLists(given as GivenOptions, 64)).toThrow(message))
})

describe('plan', () => {
  it('has 1 to n − 1 remote processes, and each combination that can be', () => {
    const sets = settingsOf({ size: ['1'] })
    expect(sets.filter(({ transport, mode }) => transport === 'RC' && mode === 'SEND').map((s) => s.processes)).toEqual(
      [1, 2, 3],
    )
    expect([...new Set(sets.map(({ transport, mode }) => `${transport} ${mode}`))]).toEqual([
      ...['RC SEND', 'RC WRITE', 'RC WRITE_IMM', 'RC READ', 'UC SEND', 'UC WRITE', 'UC WRITE_IMM'],
      ...['UD SEND', 'multicast SEND'],
    ])
  })

  it('leaves out with a reason what cannot be', () => {
    const { leftOut } = planOf({ size: ['1,8192'], processes: ['3,9'] })
    const reasons = leftOut.map(({ reason }) => reason)
    expect(reasons).toEqual(
      expect.arrayContaining([
        'UC has no RDMA READ',
        'UD has SEND only',
        'a datagram on shm:lab has at most 4096 bytes (--size)',
        'the group has 3 remote processes (--processes)',
      ]),
    )
  })

  it('without multicast has neither that nor the parts of READ that it starts', () => {
    const none = { ...shm, noMulticast: 'no groups' }
    const given = { size: ['1'], measure: ['rtt,1n,n1'], processes: ['1'] }
    const sets = settingsOf(given, 4, none)
    expect(sets.some(({ transport }) => transport === 'multicast')).toBe(false)
    expect(sets.filter(({ mode }) => mode === 'READ').map(({ measure }) => measure)).toEqual(['RDMART_1N'])
    expect(() => planOf({ transport: ['multicast'] }, 4, none)).toThrow(/nothing is left to measure.*no groups/)
  })

  it('of scenario 1 has 1 to MAXPOSTS posts, or those of a list, and one remote process', () => {
    const given = { transport: ['RC'], mode: ['SEND'], size: ['1'], measure: ['send-time'] }
    expect(settingsOf({ ...given, maxPosts: ['3'] }).map(({ posts, processes }) => [posts, processes])).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
    ])
    expect(settingsOf({ ...given, maxPosts: ['1,16'] }).map(({ posts }) => posts)).toEqual([1, 16])
    expect(() => planOf({ ...given, measure: ['post-rr'], mode: ['WRITE'] })).toThrow(/WRITE needs no receive requests/)
  })
})

it('the time of READs is that of rank 0 and the longest of the others, by the number of processes', () => {
  const [own, others] = [Float64Array.of(40, 80), [Float64Array.of(10, 20), Float64Array.of(30, Number.NaN)]]
  expect([...readTimes('RDMART_1N', 2, own, others)]).toEqual([20, 40])
  expect([...readTimes('RDMART_N1', 2, own, others)]).toEqual([15, Number.NaN])
  expect([...readTimes('MEA_RTT_TIME', 2, own, others)]).toEqual([35, Number.NaN])
})
