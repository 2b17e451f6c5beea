/**
 * Events of queue pairs that are of interest outside: injected with the platform, so that this folder and `transport` import nothing of
 * Node. None of it is on the data path: it is used when a queue pair fails or retransmits.
 */
import { EventType, nameOf, WcStatus } from './constants.ts'

/** Reasons why a queue pair failed, besides the statuses of completions and the asynchronous events, by their names. */
export const qpFailures = ['CqOverrun', 'CqGone', 'ProgramGone'] as const

/**
 * Reason why a queue pair failed: the status of the completion that its owner gets, the asynchronous event, a completion or shared receive
 * queue that was full (`CqOverrun`) or ended with its thread (`CqGone`), or the end of the program whose memory it reached (`ProgramGone`).
 */
export type QpFailure = keyof typeof WcStatus | keyof typeof EventType | (typeof qpFailures)[number]

/**
 * Reasons why packets are sent again: the ACK timeout, a silence that is longer than usual, a NAK for a PSN, a response that was missing,
 * an RNR NAK, or the end of the thread that drove the adapter.
 */
export const retransmitReasons = ['timeout', 'silence', 'nak', 'missing-response', 'rnr', 'takeover'] as const
export type RetransmitReason = (typeof retransmitReasons)[number]

/** The failure that is the status of a completion. */
export function failureOf(status: number): QpFailure {
  return nameOf(WcStatus, status) as QpFailure
}

/** Returns the failure that this event reports. */
export function failureOfEvent(event: EventType): QpFailure {
  return nameOf(EventType, event) as QpFailure
}

export interface News {
  /** True if a subscriber listens for queue pairs that fail. */
  readonly wantsErrors: boolean
  /** The queue pair `qpNum` of the device with record `device` is in ERR, or in SQE. Locks may be held. */
  qpError(device: number, qpNum: number, state: 'ERR' | 'SQE', reason: QpFailure): void
  /** True if a subscriber listens for packets that are sent again. */
  readonly wantsRetransmits: boolean
  /** Reports that a queue pair sends again from `psn` on, `packets` of them. */
  qpRetransmit(device: number, qpNum: number, psn: number, packets: number, reason: RetransmitReason): void
}
