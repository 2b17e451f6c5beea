/**
 * One suite for every device: the conformance list of the verbs (groups A to K and M), each test titled with its number
 * and text. A device passes by giving `verbsCompliance` a rig; what no device of Verbena can do is in not-applicable.ts.
 */
import { afterAll, beforeEach, describe, it } from 'vitest'
import { VerbsError } from '../../src/index.ts'
import { groupA } from './a-device.ts'
import { groupB } from './b-pd-ah.ts'
import { groupC } from './c-mr.ts'
import { groupD } from './d-mw.ts'
import { groupE } from './e-cq.ts'
import { groupF } from './f-qp.ts'
import { groupFTransitions } from './f-qp-transitions.ts'
import { groupG } from './g-rc.ts'
import { groupGErrors } from './g-rc-errors.ts'
import { groupGRequests } from './g-wr.ts'
import { groupHManagement } from './h-gsi.ts'
import { groupH } from './h-ud.ts'
import { groupI } from './i-uc.ts'
import { groupJ } from './j-srq.ts'
import { groupK } from './k-iba15.ts'
import { groupM } from './m-others.ts'
import { type ComplianceRig, type Group, Setup, SharedContexts } from './rig.ts'

const groups: readonly (readonly [string, Group])[] = [
  ['A device', groupA],
  ['B protection domains and address handles', groupB],
  ['C memory regions', groupC],
  ['D memory windows', groupD],
  ['E completion queues', groupE],
  ['F queue pairs', groupF],
  ['F transitions', groupFTransitions],
  ['G reliable connection', groupG],
  ['G reliable connection, errors', groupGErrors],
  ['G ways to post', groupGRequests],
  ['H unreliable datagram', groupH],
  ['H management datagrams on QP 1', groupHManagement],
  ['I unreliable connection', groupI],
  ['J shared receive queues', groupJ],
  ['K InfiniBand 1.5', groupK],
  ['M others', groupM],
]

export function verbsCompliance(name: string, rig: ComplianceRig, titles: RegExp = /./): void {
  describe(`verbs compliance of ${name}`, () => {
    const shared = new SharedContexts(rig)
    beforeEach(() => shared.drainEvents())
    afterAll(() => shared.close())
    for (const [title, group] of groups.filter(([title]) => titles.test(title))) {
      describe(title, () => group((text, body) => declare(rig, shared, text, body)))
    }
  })
}

function declare(
  rig: ComplianceRig,
  shared: SharedContexts,
  title: string,
  body: (t: Setup) => void | Promise<void>,
): void {
  const reason = rig.skip?.[caseNumber(title)] ?? rig.skip?.[title]
  if (reason) {
    it.skip(`${title} (${reason})`)
    return
  }
  it(title, { timeout: rig.patienceMs * 10 }, async () => {
    const t = new Setup(rig, shared)
    let failed = true
    try {
      await body(t)
      failed = false
      await t.dispose(false)
    } catch (error) {
      if (failed) await t.dispose(true)
      shared.forget()
      // Its handles would make the reporter print all memory of the device.
      if (error instanceof VerbsError) delete error.badWr
      throw error
    }
  })
}

export function caseNumber(title: string): number {
  return Number.parseInt(title, 10)
}

/** The titles of all tests, without running any. */
export function caseTitles(): string[] {
  const titles: string[] = []
  for (const [, group] of groups) group((title) => titles.push(title))
  return titles
}
