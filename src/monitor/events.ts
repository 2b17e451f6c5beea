/**
 * Exact counters of the monitor in each window, and the events that it also counts by key. All numbers are sums, so that windows of several
 * agents, or of several times, are added.
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
/** Name in `eventNames`. */
export type EventName = keyof typeof eventTexts
/** Events of packets that are counted by key. */
export const eventNames: readonly EventName[] = Object.keys(eventTexts) as EventName[]
export const eventNumber: Readonly<Record<EventName, number>> = Object.fromEntries(
  eventNames.map((name, i) => [name, i + 1]),
) as Record<EventName, number>

/** Events that a mark alone indicates. */
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

/** Events by the code of a NAK's syndrome; the last is for all other codes. */
export const nakEvents: readonly EventName[] = [
  'nakSequence',
  'nakInvalid',
  'nakAccess',
  'nakOperational',
  'nakOther',
  'nakOther',
]

/** Marks that require processing. */
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
/** Counters that are not events. */
export type PlainCounter = keyof typeof plainCounters
/** Name in `counterNames`. */
export type CounterName = PlainCounter | EventName
/** All counters, with their descriptions. */
export const counterTexts: Readonly<Record<CounterName, string>> = { ...plainCounters, ...eventTexts }
/** Exact counters of a window. */
export const counterNames: readonly CounterName[] = Object.keys(counterTexts) as CounterName[]
/** Index of each counter in the counters of a window. */
export const counterIndex: Readonly<Record<CounterName, number>> = Object.fromEntries(
  counterNames.map((name, i) => [name, i]),
) as Record<CounterName, number>
/** Values of the exact counters. */
export type Totals = Record<CounterName, number>

const countedAnyway: readonly CounterName[] = ['cnp', 'marked', 'malformed']
/** Counters that exist only for packets that are followed: for the packets that `fastPath` counts, they are not known. */
export const followedOnly: ReadonlySet<string> = new Set<CounterName>([
  ...(['messages', 'connections', 'unmeasured'] as const),
  ...eventNames.filter((event) => !countedAnyway.includes(event)),
])

/** Returns the number of RDMA packets that were followed, and not only counted. */
export function followedOf({ roce, fastPath }: Pick<Totals, 'roce' | 'fastPath'>): number {
  return roce - fastPath
}
