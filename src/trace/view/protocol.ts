/**
 * Messages between the page and its worker: requests of the page, and messages that the worker sends on its own. All of them can be posted.
 */
import type { CaptureInfo, ConversationInfo, Layer } from '../index.ts'
import type { Tally } from './capture-view.ts'
import type { Picture, Window } from './raster.ts'

/** Diagrams of one direction of a conversation. */
export type DiagramKind = 'psn' | 'latency'

export interface Summary extends Omit<CaptureInfo, 'conversations'> {
  tally: Tally
  /** Packets that can be shown one by one: fewer than `packets` in very large captures. */
  listed: number
  /** Conversations with the largest numbers of packets. */
  conversations: ConversationInfo[]
  conversationCount: number
  /** Flag: the reading was cancelled; this is the summary of the packets read until then. */
  cancelled: boolean
  /** Flag: all was read and analysed; a second reading, from which the list and the diagrams are made, was cancelled. */
  listingCancelled: boolean
}

/** One line of the list. */
export interface PacketLine {
  number: number
  time: string
  /** Addresses; empty if the packet is not RDMA. */
  ends: string
  conversation: number | null
  qps: string
  what: string
  psn: string
  payload: string
  notes: string
  /** Part of the line, and so its colour; null if it is not highlighted. */
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
  /** Number of points; 0 if there is nothing to draw. */
  count: number
  fromNs: number
  toNs: number
  lowest: number
  highest: number
  /** PSN at 0, and the number of times that the sequence started over. */
  firstPsn: number
  restarts: number
  /** Number of points of each Shape. */
  shapes: number[]
}

export interface Spot {
  /** Number from 1. */
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

/** Input and output of each request, by name. */
export interface Requests {
  conversation: [{ number: number }, ConversationInfo | null]
  diagram: [DiagramName, DiagramInfo]
  picture: [DiagramName & { window: Window }, Picture]
  /** Lowest and highest PSN within a time; null if it has none. */
  extent: [DiagramName & { fromNs: number; toNs: number }, { low: number; high: number } | null]
  pick: [DiagramName & { timeNs: number; psn: number; nearNs: number; nearPsns: number }, Spot | null]
  /** Next point of a Shape after packet `after`; after the last, the first. */
  next: [DiagramName & { shape: number; after: number }, Spot | null]
  /** Point of a packet. */
  find: [DiagramName & { number: number }, Spot | null]
  /** Applies a filter, or none if it is empty; resolves at its end, or when another one replaces it. */
  filter: [{ text: string }, { shown: number; complete: boolean }]
  /** Lines of the list from the position `from`. */
  lines: [{ from: number; count: number }, PacketLine[]]
  /** Position in the list of a packet, or of the first one after it. */
  place: [{ number: number }, number]
  packet: [{ number: number }, PacketDetail | null]
  /** Output of `verbena trace info --json`. */
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
  /** Summary of the whole capture, or of what was read so far. */
  | { summary: Summary; complete: boolean }
  | { failed: string }
  | { filtering: { shown: number; looked: number } }
  | { id: number; result: unknown }
  | { id: number; error: string }
