/** The plan of a run: the sets that the lists of settings, the group and its devices allow. All ranks compute the same plan. */
import { combinations, makePlan, type Plan } from '../bench-kit/index.ts'
import { UsageError } from '../kit/index.ts'
import { type CollectiveSettings, isScenario1, type Measure, type Mode, type ParsedLists } from './settings.ts'

/** Limits of a device: the minimum over all ranks. */
export interface DeviceFacts {
  /** Maximum bytes of a datagram. */
  mtu: number
  /** Maximum bytes of a message on a connection. */
  maxMessage: number
  /** Reason why there is no multicast; empty if there is. */
  noMulticast: string
}

const mostSets = 20_000

/** Makes the plan. Throws a UsageError if no set is left, or too many. */
export function planCollective(
  lists: ParsedLists,
  ranks: number,
  facts: ReadonlyMap<string, DeviceFacts>,
): Plan<CollectiveSettings> {
  const common = { transport: lists.transport, mode: lists.mode }
  const processes = lists.processes.length > 0 ? lists.processes : upTo(ranks - 1)
  const posts = lists.maxPosts.length === 1 ? upTo(lists.maxPosts[0]!) : lists.maxPosts
  const all = [...facts.keys()].flatMap((device) =>
    combinations<Pick<CollectiveSettings, 'transport' | 'mode'>>(common as never).flatMap((kind) =>
      lists.measure.flatMap((measure) =>
        combinations<CollectiveSettings>({
          ...{ device: [device], transport: [kind.transport], mode: [kind.mode], measure: [measure] },
          ...{ repetitions: lists.repetitions, size: lists.size },
          ...(isScenario1(measure) ? { processes: [1], posts } : { processes }),
        } as never),
      ),
    ),
  )
  if (all.length > mostSets)
    throw new UsageError('--size', `these lists make ${all.length} sets, more than ${mostSets}: shorten some`)
  const plan = makePlan(all, (settings) => exclusion(settings, ranks, facts.get(settings.device)!), 1, 1)
  if (plan.sets.length === 0)
    throw new UsageError(
      '--transport',
      `nothing is left to measure: ${plan.leftOut.map(({ reason }) => reason).join('; ')}`,
    )
  // In the order of the lists, so that the queue pairs of a transport are created once.
  return { ...plan, order: plan.sets.map((_, i) => i) }
}

/** Returns the reason why the settings cannot be measured; null if they can. */
function exclusion(settings: CollectiveSettings, ranks: number, facts: DeviceFacts): string | null {
  const { device, transport, mode, measure, size, processes } = settings
  const datagrams = transport === 'UD' || transport === 'multicast'
  if (datagrams && mode !== 'SEND') return `${transport} has SEND only`
  if (transport === 'UC' && mode === 'READ') return 'UC has no RDMA READ'
  const unsuited = unsuitedMeasure(measure, mode)
  if (unsuited !== null) return unsuited
  if (processes >= ranks) return `the group has ${ranks - 1} remote processes (--processes)`
  if (datagrams && size > facts.mtu) return `a datagram on ${device} has at most ${facts.mtu} bytes (--size)`
  if (size > facts.maxMessage) return `a message on ${device} has at most ${facts.maxMessage} bytes (--size)`
  const starts = mode === 'READ' && (measure === 'MEA_RTT_TIME' || measure === 'RDMART_N1')
  if (facts.noMulticast === '' || !(transport === 'multicast' || starts)) return null
  const why = `${device} has no multicast (${facts.noMulticast})`
  return starts ? `${why}, by which the reading of RDMA READ's n:1 time starts` : why
}

function unsuitedMeasure(measure: Measure, mode: Mode): string | null {
  const oneSided = mode === 'WRITE' || mode === 'READ'
  if (measure === 'MEA_POST_RR_CPU_OVERHEAD' && oneSided) return `${mode} needs no receive requests`
  if (measure.startsWith('RDMART_') && mode !== 'READ') return `${measure} is a part of RDMA READ's time`
  if (measure === 'MEA_SENDCOMPLETE_TIME' && mode === 'READ') return 'the time of READs to complete is RDMART_1N'
  return null
}

function upTo(last: number): number[] {
  return Array.from({ length: Math.max(0, last) }, (_, i) => i + 1)
}
