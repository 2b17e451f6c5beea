/** The verbs of this process for programs: regions in their memory, and queues that request receives. */
import type { Context, QueuePair, SharedReceiveQueue } from '../../verbs/index.ts'
import type { Host } from '../../verbs/provider/index.ts'
import type { Refilled, Waist } from './waist.ts'

/** Maximum size of a region: more than any process has memory; what is registered has to be mapped. */
const maxMrBytes = 2 ** 40

/** Owners that post receives to the queue pairs and SRQs of a segment, by slot: all adapters of a segment have one hook. */
interface Owners {
  readonly qp: Map<number, Refilled>
  readonly srq: Map<number, Refilled>
}
const ownersOf = new WeakMap<Host, Owners>()

function owners(host: Host): Owners {
  let found = ownersOf.get(host)
  if (found === undefined) {
    const made: Owners = { qp: new Map(), srq: new Map() }
    ownersOf.set(host, made)
    host.refill = (queue, slot) => made[queue].get(slot)?.refill()
    found = made
  }
  return found
}

/** Returns the waist of a context that belongs to the door alone. */
export function processWaist(context: Context): Waist {
  const known = owners(context.device.host)
  return {
    context,
    maxMrBytes,
    regMr: (pd, { pid }, { address, length, access, iova }) =>
      pd.regProcessMr({ pid, address, length }, access, { iova }),
    createQp(pd, init, owner): QueuePair {
      const qp = pd.createQp({ ...init, hosted: true })
      known.qp.set(qp.slot, owner)
      return qp
    },
    createSrq(pd, init, owner): SharedReceiveQueue {
      const srq = pd.createSrq({ ...init, hosted: true })
      known.srq.set(srq.slot, owner)
      return srq
    },
    forget(queue): void {
      known['qpNum' in queue ? 'qp' : 'srq'].delete(queue.slot)
    },
  }
}
