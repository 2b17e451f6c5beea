/**
 * `verbena:qp:error` and `verbena:qp:retransmit` of `node:diagnostics_channel` (docs/reference/channels.md).
 *
 * A message is published in the thread that detected the event, when that thread returns to its event loop: the event was detected under
 * locks, and a subscriber may call any verb. Threads that only work for other threads, and have no subscribers, pass the message to the
 * thread that started them, if that thread has subscribers: `subscriptions`, in memory that both threads share, indicates it.
 */
import { channel } from 'node:diagnostics_channel'
import { deviceAt } from '../provider/device.ts'
import type { Host } from '../provider/host.ts'
import type { News, QpFailure, RetransmitReason } from '../provider/news.ts'

/** Published when a queue pair has failed. */
export interface QpErrorMessage {
  /** Name under which the device was opened; null if this thread does not have it open. */
  device: string | null
  qpNum: number
  state: 'ERR' | 'SQE'
  reason: QpFailure
}

/** Published when a requester of RC sends packets again. */
export interface QpRetransmitMessage {
  device: string | null
  qpNum: number
  /** PSN of the oldest packet that is not acknowledged, at which retransmission begins. */
  psn: number
  /** Number of packets that have been sent from `psn` on. */
  packets: number
  reason: RetransmitReason
}

/** Message of a thread that works for another one. */
export interface PassedNews {
  news: 'error' | 'retransmit'
  message: QpErrorMessage | QpRetransmitMessage
  /** The number of the device in its segment. */
  index: number
  /** The segment, in the thread that has made the message: names are looked up without locks. */
  host?: Host
}

const channels = { error: channel('verbena:qp:error'), retransmit: channel('verbena:qp:retransmit') }
const bits = { error: 1, retransmit: 2 }
/** Maximum number of messages that wait for an event loop; further messages are dropped. Counters of devices miss none. */
const mostWaiting = 1000

/** First word: bits of the channels to which this thread has subscribers. Second word: number of messages in transit to this thread. */
export const subscriptions: Int32Array = new Int32Array(new SharedArrayBuffer(8))

/** Notifies the threads that work for this one whether a channel has subscribers: when a device is opened, and when a QP is created. */
export function noteSubscribers(): void {
  const error = channels.error.hasSubscribers ? bits.error : 0
  Atomics.store(subscriptions, 0, error | (channels.retransmit.hasSubscribers ? bits.retransmit : 0))
}

let waiting: PassedNews[] = []

function publishWaiting(): void {
  const now = waiting
  waiting = []
  for (const { news, message, index, host } of now) {
    if (host !== undefined) message.device = nameOf(host, index)
    channels[news].publish(message)
  }
}

let starter: { subscriptions: Int32Array; post: (passed: PassedNews) => void } | null = null

/** Makes this thread publish nothing from now on, and pass each message to the thread to which `theirSubscriptions` belongs. */
export function passNews(theirSubscriptions: Int32Array, post: (passed: PassedNews) => void): void {
  starter = { subscriptions: theirSubscriptions, post }
}

/** Takes what a thread passes that works for this one; in the segment of `host`, if that thread does not know names of devices. */
export function takeNews({ news, message, index }: PassedNews, host?: Host): void {
  Atomics.sub(subscriptions, 1, 1)
  if (host !== undefined) message.device ??= nameOf(host, index)
  channels[news].publish(message)
}

function publish(
  news: PassedNews['news'],
  message: QpErrorMessage | QpRetransmitMessage,
  index: number,
  host: Host,
): void {
  if (starter === null) {
    if (waiting.length === mostWaiting) return
    if (waiting.push({ news, message, index, host }) === 1) process.nextTick(publishWaiting)
  } else if (Atomics.add(starter.subscriptions, 1, 1) < mostWaiting) {
    message.device = names.get(host)?.get(index) ?? null
    starter.post({ news, message, index })
  } else Atomics.sub(starter.subscriptions, 1, 1)
}

/** Names of the devices that this thread has opened, by segment and number. */
const names = new WeakMap<Host, Map<number, string>>()

export function nameDevice(host: Host, index: number, name: string): void {
  const known = names.get(host) ?? new Map<number, string>()
  names.set(host, known.set(index, name))
}

function nameOf(host: Host, index: number): string | null {
  try {
    return names.get(host)?.get(index) ?? deviceAt(host, index)?.name ?? null
  } catch {
    // A process without free descriptors cannot query the host's addresses.
    return null
  }
}

const isSubscribed = (news: PassedNews['news']): boolean =>
  starter === null ? channels[news].hasSubscribers : (Atomics.load(starter.subscriptions, 0) & bits[news]) !== 0

/** The news of one segment. */
export function newsOf(host: () => Host): News {
  return {
    get wantsErrors() {
      return isSubscribed('error')
    },
    qpError(device, qpNum, state, reason) {
      publish('error', { device: null, qpNum, state, reason }, device, host())
    },
    get wantsRetransmits() {
      return isSubscribed('retransmit')
    },
    qpRetransmit(device, qpNum, psn, packets, reason) {
      publish('retransmit', { device: null, qpNum, psn, packets, reason }, device, host())
    },
  }
}
