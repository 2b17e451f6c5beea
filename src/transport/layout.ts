/**
 * State that the transport keeps for each QP (at `Qp.wire`, 32-bit words) and for each device, in the segment, so that any thread that
 * drives the device finds it. `f64` marks pairs of words that hold a double.
 *
 * Everywhere in this folder `q` is the first word of a QP's record, `t` that of the transport's part of it (`TransportQp`), and `at` the
 * byte at which a packet's BTH begins.
 *
 *     requester   txIndex, txPsn ── next to send │ newPsn ── next never sent │ una ── oldest not acknowledged
 *     responder   epsn ── expected next │ the message that is arriving │ a receive taken from an SRQ
 *     resources   READs and atomics of the peer, in the order they came, kept for responses and for duplicates
 */
import { Journal, layout } from '../verbs/provider/index.ts'

const { Sg, Wqe } = layout

/** Maximum number of READ and atomic requests of the peer that are remembered (`maxQpRdAtom`). */
export const maxResources = 64
/** Maximum number of scatter/gather elements of a receive. */
export const maxReceiveSges = 32

/** Words of one entry of the resource ring. */
export const Resource = {
  words: 16,
  first: 0,
  last: 1,
  operation: 2,
  rkey: 3,
  va: 4 /* f64; of an atomic: the value it found, 64 bits */,
  length: 6 /* f64 */,
  /** Rest that is still to be sent: next and last PSN, address and bytes. */
  next: 8,
  end: 9,
  jobVa: 10 /* f64 */,
  jobLeft: 12 /* f64 */,
  begun: 14,
  /** Flag: the response was sent to its end; the rest that is still to be sent is for a duplicate. */
  answered: 15,
} as const

/** Kinds of resources. Zero: the entry was never used. */
export const resourceKind = { none: 0, read: 1, atomic: 2, plain: 3 } as const

/** Halves of a QP that have begun: the first packet or request gives each its first PSN. */
export const begun = { responder: 1, requester: 2 } as const

/** Words of the state of congestion control for each QP: see congestion.ts. */
const congestionWords = 18

export const TransportQp = {
  /** Bits of `begun`. */
  ready: 0,
  txIndex: 1,
  txPsn: 2,
  newPsn: 3,
  una: 4,
  /** Number of READ and atomic requests that are outstanding. */
  readsOut: 5,
  lastAckReq: 6,
  retriesLeft: 7,
  rnrLeft: 8,
  /** PSN of the response or ACK that showed the missing response for which it last went back, else the end of the packets sent. */
  gapPsn: 9,
  /** Time at which it last went back, ns. */
  restartNs: 10 /* f64 */,
  /**
   * Number of times that it has gone back since a packet was acknowledged: a NAK for packets that are being sent again starts nothing
   * new.
   */
  resending: 12,
  /** Index of the first request that was never begun. */
  freshIndex: 13,
  /** Status with which the request at `txIndex` fails in its turn, 0 if it does not. */
  localError: 14,
  /** Responder: PSN of the newest SEND or WRITE, which an ACK names. */
  plainPsn: 15,

  epsn: 16,
  msn: 17,
  /** Flag, set after a NAK or RNR NAK, sent or due: packets ahead of the expected PSN are dropped without another one. */
  nakSent: 18,
  rxKind: 19,
  rxBytes: 20 /* f64 */,
  va: 22 /* f64 */,
  remaining: 24 /* f64 */,
  rkey: 26,
  /** Word of the receive that the arriving message fills, 0 if none. */
  receive: 27,
  ackDue: 28,
  /** Number of resources so far; the next one's slot is this modulo `maxResources`. */
  resTail: 29,
  /** Index of the first resource that is still to be answered. */
  resNext: 30,
  /** Flag: the rest of a message of UC is dropped. */
  dropRest: 31,
  /** Syndrome and PSN of a NAK that waits for the responses before it; the syndrome is 0 if there is none. */
  nakDue: 32,
  nakPsn: 33,
  /** Responder: PSN of the packet that showed the gap for which a NAK was sent. */
  nakAhead: 34,

  /** Requester: number of packets that may be outstanding since some were lost; 0: as many as the options allow. See recovery.ts. */
  window: 35,
  /** Oldest packet when it last went back: the packets acknowledged since are its progress without a loss. */
  runFrom: 36,
  /** Number of times that it went back before the ACK timeout since a round trip was measured. */
  early: 37,
  /** Mean and deviation of the round trip, ns; 0 before the first measurement. */
  roundTrip: 38 /* f64 */,
  deviation: 40 /* f64 */,
  /** PSN of the packet whose round trip is being measured. */
  timedPsn: 42,
  /** Flag: it waits once more, since the thread that drives the device noticed late that it had waited long enough. */
  heldUp: 43,
  /** Flag: the two ends have agreed on end-to-end credits: see credits.ts. Set by a connection manager, else 0. */
  flowControl: 44,
  /** Numbers of the last request that was begun, and of the last that has credit. */
  ssn: 45,
  limit: 46,
  /** Flag: the peer reports no credits. */
  unlimited: 47,

  srqCopy: 48,
  /** Time at which that packet was sent, ns; 0 if none is measured. */
  timedNs: 180 /* f64 */,
  /** Time at which each timer expires, ns; 0: it does not run. See timers.ts. */
  ackExpiresNs: 182 /* f64 */,
  earlyExpiresNs: 184 /* f64 */,
  rnrExpiresNs: 186 /* f64 */,
  paceExpiresNs: 188 /* f64 */,
  /** Responder: key of the window that the SEND which is being completed has invalidated, 0 if none. */
  invalidated: 211,
  /** Congestion control: see congestion.ts. */
  congestion: 190,
  resources: 256,
  words: 1280,
} as const

/** Words that the requester adds to a request in the send queue of a connected QP, where UD has its address vector. */
export const SendProgress = {
  /** Flag of a request that needed no packet and is done: it completes in its turn. */
  settled: 20,
  firstPsn: 21,
  lastPsn: 22,
  ssn: 23,
  length: 24 /* f64 */,
} as const

/** State that the transport keeps for each device. */
export const TransportDevice = {
  lock: 0,
  /** Flag, set after the lock was taken over from a dead thread, until the work that it left unfinished is in order. */
  orphaned: 1,
  txHead: 16,
  txTail: 17,
  ackHead: 18,
  ackTail: 19,
  timers: 20,
  /** Time before which no timer expires, ns. */
  nextDeadline: 22 /* f64 */,
  /** Doorbell: QPs that other threads want served, written by threads that post. */
  doorbellLock: 32,
  doorbellTail: 33,
  /** Thread that last wanted to look for packets and found the lock taken: the holder wakes it when it releases the lock. */
  looker: 34,
  doorbellHead: 48,
  txRing: 64,
  ackRing: 65600,
  timerList: 131136,
  doorbellRing: 196672,
  /** Offset of one byte for each QP: bits of `listed`. */
  flags: 262208,
  /** Offsets of a `Journal`, and after it a `PacketJournal`. */
  journal: 278592,
  packet: 278608,
  /**
   * Packets and turns of queue pairs that other threads host: see hosting.ts. First byte of the memory for packets, 0 before there is
   * any.
   */
  mail: 278640 /* f64 */,
  /** Number of its entries that were ever in use, and the first that is free again (its number + 1). */
  mailUsed: 278642,
  mailFree: 278643,
  /** Offset of a `Mailbox` for each attachment. */
  mailboxes: 278656,
  words: 286848,
  slots: 65536,
} as const

/** State of a QP before the packet of the peer that is being executed: see takeover.ts. */
export const PacketJournal = {
  epsn: 0,
  msn: 1,
  rxKind: 2,
  receive: 3,
  rkey: 4,
  plainPsn: 5,
  resTail: 6,
  /** Position of the SRQ after a receive was taken from it, and 1 if one may have been. */
  srqTail: 7,
  takes: 8,
  /** Region (slot + 1) of a window that the packet invalidates, 0 if it invalidates none. */
  region: 9,
  rxBytes: 10 /* f64 */,
  va: 12 /* f64 */,
  remaining: 14 /* f64 */,
  /** Target of an atomic, its 64-bit word in memory, and the value that it stores there. */
  target: 16 /* f64 */,
  value: 18 /* 64 bits */,
  words: 32,
} as const

/** Work that waits for one thread that hosts queue pairs. */
export const Mailbox = {
  words: 8,
  /** Use of an attachment that the mailbox is for. */
  use: 0,
  /** First and last entry (their numbers + 1), 0 if there is none; and the number of entries. */
  first: 1,
  last: 2,
  count: 3,
  /** Flag: queue pairs of that thread are marked: `listed.host`. */
  turns: 4,
} as const

/** Lists of the device that a QP is in; `host`: its turn is to come in the thread that hosts it. */
export const listed = { tx: 1, ack: 2, timer: 4, host: 8 } as const

if (
  TransportQp.srqCopy + 4 + maxReceiveSges * Sg.words > TransportQp.timedNs ||
  TransportQp.congestion + congestionWords > TransportQp.invalidated ||
  TransportQp.resources + maxResources * Resource.words !== TransportQp.words ||
  SendProgress.settled !== Wqe.av ||
  TransportDevice.slots !== layout.maxQps ||
  TransportDevice.flags !== TransportDevice.txRing + 4 * TransportDevice.slots ||
  TransportDevice.journal !== TransportDevice.flags + TransportDevice.slots / 4 ||
  TransportDevice.packet !== TransportDevice.journal + Journal.words ||
  TransportDevice.mail < TransportDevice.packet + PacketJournal.words ||
  TransportDevice.words < TransportDevice.mailboxes + 1024 * Mailbox.words
)
  throw new Error('the layouts of transport and verbs do not fit together')
