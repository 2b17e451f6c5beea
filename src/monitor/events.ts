/**
 * What the monitor counts exactly in each window, and the events that it also keeps by key. All numbers are sums, so that windows
 * of several agents, or of several moments, are added.
 */
import { Mark } from '../trace/index.ts'

/** Events, in the order of their numbers in keys (from 1). Each is a counter as well. */
export const eventTexts = {
  retransmission: 'requests that were sent again',
  duplicate: 'of these, those that had been acknowledged already',
  missing: 'PSNs that were left out: lost, or late',
  late: 'of these, those that came after all',
  repeat: 'responses that were sent again',
  restart: 'queue pairs that began anew with another PSN',
  timeout: 'retransmissions that no NAK asked for: the requester waited until its time was over',
  nakSequence: 'NAKs: PSN sequence error',
  nakInvalid: 'NAKs: invalid request',
  nakAccess: 'NAKs: remote access error',
  nakOperational: 'NAKs: remote operational error',
  nakOther: 'NAKs of other kinds',
  rnr: 'RNR NAKs: the receiver was not ready',
  cnp: 'congestion notification packets',
  marked: 'packets with the ECN mark "congestion experienced"',
  icrc: 'packets with a wrong ICRC',
  malformed: 'packets that break a rule of the format',
} as const
/** A name of `eventNames`. */
export type EventName = keyof typeof eventTexts
/** What can happen to a packet that is counted by key. */
export const eventNames: readonly EventName[] = Object.keys(eventTexts) as EventName[]
export const eventNumber: Readonly<Record<EventName, number>> = Object.fromEntries(
  eventNames.map((name, i) => [name, i + 1]),
) as Record<EventName, number>

/** Events that a mark says by itself. */
export const markedEvents: readonly (readonly [mark: number, event: EventName])[] = [
  [Mark.Retransmission, 'retransmission'],
  [Mark.Duplicate, 'duplicate'],
  [Mark.Late, 'late'],
  [Mark.Repeat, 'repeat'],
  [Mark.Restart, 'restart'],
  [Mark.RnrNak, 'rnr'],
  [Mark.Cnp, 'cnp'],
  [Mark.Marked, 'marked'],
]

/** By the code of a NAK's syndrome; the last is for all others. */
export const nakEvents: readonly EventName[] = [
  'nakSequence',
  'nakInvalid',
  'nakAccess',
  'nakOperational',
  'nakOther',
  'nakOther',
]

/** All marks that something is to be done for. */
export const eventMarks: number = markedEvents.reduce((all, [mark]) => all | mark, Mark.Gap | Mark.Nak)

const plainCounters = {
  packets: 'all packets that were captured',
  wireBytes: 'their bytes on the wire',
  roce: 'RDMA packets',
  roceBytes: 'their bytes on the wire',
  payloadBytes: 'of these, payload',
  messages: 'messages whose last packet passed: SENDs, WRITEs, READs, atomics',
  connections: 'connection requests (REQ)',
  ecnCapable: 'RDMA packets whose sender allows switches to mark them',
  copies:
    'RDMA packets that were captured before, at another place or by a mirror of both directions: nothing else counts them',
  cut: 'packets of which the capture has only the beginning',
  pauseFrames: 'PFC and PAUSE frames',
  resumeFrames: 'of these, those that end a pause',
  oversized: 'packets longer than 16 MiB, as their capture says: counted with that length',
  unplaced: 'RDMA packets of a time before the window, or of none: the rates leave them out',
  dropped: 'packets that the kernel had no room for',
  fastPath: 'packets that were only counted, since there was too much to follow',
  forgotten: 'flows that were forgotten for others',
  unmeasured: 'latencies that were left out, since the clock went back',
  unsent: 'windows before this one that an agent could not deliver to its collector',
  clockBack: 'how often the clock of the packets went back by more than a window',
} as const
/** Those that are no events. */
export type PlainCounter = keyof typeof plainCounters
/** A name of `counterNames`. */
export type CounterName = PlainCounter | EventName
/** All counters, and what they count. */
export const counterTexts: Readonly<Record<CounterName, string>> = { ...plainCounters, ...eventTexts }
/** The exact counters of a window. */
export const counterNames: readonly CounterName[] = Object.keys(counterTexts) as CounterName[]
/** Where a counter is in the counters of a window. */
export const counterIndex: Readonly<Record<CounterName, number>> = Object.fromEntries(
  counterNames.map((name, i) => [name, i]),
) as Record<CounterName, number>
/** The exact counters. */
export type Totals = Record<CounterName, number>

const countedAnyway: readonly CounterName[] = ['cnp', 'marked', 'malformed']
/** What is only counted where packets are followed: of the others, which `fastPath` counts, it is not known. */
export const followedOnly: ReadonlySet<string> = new Set<CounterName>([
  ...(['messages', 'connections', 'unmeasured'] as const),
  ...eventNames.filter((event) => !countedAnyway.includes(event)),
])

/** RDMA packets that were followed, and not only counted. */
export function followedOf({ roce, fastPath }: Pick<Totals, 'roce' | 'fastPath'>): number {
  return roce - fastPath
}
