/** What the page asks of its worker, and what the worker says without being asked. All of it can be posted. */
import type { CaptureInfo, ConversationInfo, Layer } from '../index.ts'
import type { Tally } from './capture-view.ts'
import type { Picture, Window } from './raster.ts'

/** What is drawn of one direction of a conversation. */
export type DiagramKind = 'psn' | 'latency'

export interface Summary extends Omit<CaptureInfo, 'conversations'> {
  tally: Tally
  /** Packets that can be shown one by one: fewer than `packets` in very large captures. */
  listed: number
  /** Of all conversations, those with most packets. */
  conversations: ConversationInfo[]
  conversationCount: number
  /** The reading was cancelled: this is what was read until then. */
  cancelled: boolean
  /** All was read and analysed; a second reading, from which the list and the diagrams are made, was cancelled. */
  listingCancelled: boolean
}

/** One line of the list. */
export interface PacketLine {
  number: number
  time: string
  /** Addresses; for what is no RDMA, empty. */
  ends: string
  conversation: number | null
  qps: string
  what: string
  psn: string
  payload: string
  notes: string
  /** What is worth a colour. */
  part: 'bad' | 'warning' | 'congestion' | 'connection' | 'dim' | null
}

export interface PacketDetail {
  number: number
  conversation: number | null
  title: string
  facts: string[]
  layers: readonly Layer[]
  notes: string[]
  bytes: Uint8Array
}

export interface DiagramInfo {
  /** Points; 0 if there is nothing to draw. */
  count: number
  fromNs: number
  toNs: number
  lowest: number
  highest: number
  /** The PSN at 0, and how often the sequence started over. */
  firstPsn: number
  restarts: number
  /** Points of each Shape. */
  shapes: number[]
}

export interface Spot {
  /** From 1. */
  number: number
  timeNs: number
  psn: number
  shape: number
}

/** One direction of one conversation. */
export interface DiagramName {
  conversation: number
  direction: number
  diagram: DiagramKind
}

/** By name: what is asked with, and what comes back. */
export interface Requests {
  conversation: [{ number: number }, ConversationInfo | null]
  diagram: [DiagramName, DiagramInfo]
  picture: [DiagramName & { window: Window }, Picture]
  /** The lowest and the highest PSN that a time has; null if it has none. */
  extent: [DiagramName & { fromNs: number; toNs: number }, { low: number; high: number } | null]
  pick: [DiagramName & { timeNs: number; psn: number; nearNs: number; nearPsns: number }, Spot | null]
  /** The next point of a Shape behind packet `after`; behind the last, the first. */
  next: [DiagramName & { shape: number; after: number }, Spot | null]
  /** The point of a packet. */
  find: [DiagramName & { number: number }, Spot | null]
  /** Applies a filter, or none if it is empty; resolves at its end, or when another one takes its place. */
  filter: [{ text: string }, { shown: number; complete: boolean }]
  /** Lines of the list from the place `from`. */
  lines: [{ from: number; count: number }, PacketLine[]]
  /** The place in the list of a packet, or of the first behind it. */
  place: [{ number: number }, number]
  packet: [{ number: number }, PacketDetail | null]
  /** `verbena trace info --json`. */
  json: [Record<never, never>, string]
}
export type RequestName = keyof Requests

export interface Ask<Name extends RequestName = RequestName> {
  id: number
  name: Name
  with: Requests[Name][0]
}

export type FromPage<Source> = { open: Source } | { cancel: 'load' | 'filter' } | Ask

export type FromWorker =
  | { progress: { doneBytes: number; totalBytes: number; packets: number } }
  /** The whole, or while it is read what there is so far. */
  | { summary: Summary; complete: boolean }
  | { failed: string }
  | { filtering: { shown: number; looked: number } }
  | { id: number; result: unknown }
  | { id: number; error: string }
