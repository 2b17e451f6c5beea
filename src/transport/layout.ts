/**
 * What the transport keeps for each QP (at `Qp.wire`, 32-bit words) and for each device, in the segment, so that whichever
 * thread drives the device finds it. `f64` marks pairs of words that hold a double.
 *
 * Everywhere in this folder `q` is the first word of a QP's record, `t` that of the transport's part of it (`TransportQp`),
 * and `at` the byte at which a packet's BTH begins.
 *
 *     requester   txIndex, txPsn ── next to send │ newPsn ── next never sent │ una ── oldest not acknowledged
 *     responder   epsn ── expected next │ the message that is arriving │ a receive taken from an SRQ
 *     resources   READs and atomics of the peer, in the order they came, kept for responses and for duplicates
 */
import { Journal, layout } from '../verbs/provider/index.ts'

const { Sg, Wqe } = layout

/** READ and atomic requests of the peer that are remembered, at most (`maxQpRdAtom`). */
export const maxResources = 64
/** Scatter/gather elements of a receive, at most. */
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
  /** What of it is still to be sent: next and last PSN, address and bytes. */
  next: 8,
  end: 9,
  jobVa: 10 /* f64 */,
  jobLeft: 12 /* f64 */,
  begun: 14,
  /** 1 once it has been answered to its end: what is still to be sent is for a duplicate. */
  answered: 15,
} as const

/** What a resource is. Zero: nothing was ever there. */
export const resourceKind = { none: 0, read: 1, atomic: 2, plain: 3 } as const

/** Which halves of a QP have begun: the first packet or request gives each its first PSN. */
export const begun = { responder: 1, requester: 2 } as const

/** What congestion control keeps for each QP: see congestion.ts. */
const congestionWords = 18

export const TransportQp = {
  /** Bits of `begun`. */
  ready: 0,
  txIndex: 1,
  txPsn: 2,
  newPsn: 3,
  una: 4,
  /** READ and atomic requests that are outstanding. */
  readsOut: 5,
  lastAckReq: 6,
  retriesLeft: 7,
  rnrLeft: 8,
  /** The response or ACK that showed the missing response for which it last went back, else the end of what was sent. */
  gapPsn: 9,
  /** When it last went back, ns. */
  restartNs: 10 /* f64 */,
  /** How often it has gone back since a packet was acknowledged: a NAK for what is being sent again starts nothing new. */
  resending: 12,
  /** The first request that was never begun. */
  freshIndex: 13,
  /** The status with which the request at `txIndex` fails when its turn comes, 0 if it does not. */
  localError: 14,
  /** Responder: the newest SEND or WRITE, which an ACK names. */
  plainPsn: 15,

  epsn: 16,
  msn: 17,
  /** 1 after a NAK or RNR NAK, sent or due: what comes ahead of the expected PSN is passed over in silence. */
  nakSent: 18,
  rxKind: 19,
  rxBytes: 20 /* f64 */,
  va: 22 /* f64 */,
  remaining: 24 /* f64 */,
  rkey: 26,
  /** Word of the receive that the arriving message fills, 0 if none. */
  receive: 27,
  ackDue: 28,
  /** Resources so far; the next one's place is this modulo `maxResources`. */
  resTail: 29,
  /** The first resource that is still to be answered. */
  resNext: 30,
  /** 1 while the rest of a message of UC is dropped. */
  dropRest: 31,
  /** Syndrome and PSN of a NAK that waits for the responses before it; the syndrome is 0 if there is none. */
  nakDue: 32,
  nakPsn: 33,
  /** Responder: the packet that showed the gap for which a NAK was sent. */
  nakAhead: 34,

  /** Requester: packets that may be outstanding since some were lost; 0: as many as the options say. See recovery.ts. */
  window: 35,
  /** The oldest packet when it last went back: what was acknowledged since is how far it gets without a loss. */
  runFrom: 36,
  /** How often it went back before the ACK timeout since a round trip was measured. */
  early: 37,
  /** Mean and deviation of the round trip, ns; 0 before the first measurement. */
  roundTrip: 38 /* f64 */,
  deviation: 40 /* f64 */,
  /** The packet whose round trip is being measured. */
  timedPsn: 42,
  /** 1 while it waits once more, since the thread that drives the device noticed late that it had waited long enough. */
  heldUp: 43,
  /** 1 if the two ends have agreed on end-to-end credits: see credits.ts. Set by a connection manager, 0 else. */
  flowControl: 44,
  /** The number of the last request that was begun, and of the last that has credit. */
  ssn: 45,
  limit: 46,
  /** 1 while the peer says nothing of credits. */
  unlimited: 47,

  srqCopy: 48,
  /** When that packet was sent, ns; 0 if none is measured. */
  timedNs: 180 /* f64 */,
  /** When each timer expires, ns; 0: it does not run. See timers.ts. */
  ackExpiresNs: 182 /* f64 */,
  earlyExpiresNs: 184 /* f64 */,
  rnrExpiresNs: 186 /* f64 */,
  paceExpiresNs: 188 /* f64 */,
  /** Responder: the key of the window that the SEND which is being completed has invalidated, 0 if none. */
  invalidated: 211,
  /** Congestion control: see congestion.ts. */
  congestion: 190,
  resources: 256,
  words: 1280,
} as const

/** What the requester adds to a request in the send queue of a connected QP, where UD has its address vector. */
export const SendProgress = {
  /** 1 for a request that needed no packet and is done: it completes when its turn comes. */
  settled: 20,
  firstPsn: 21,
  lastPsn: 22,
  ssn: 23,
  length: 24 /* f64 */,
} as const

/** What the transport keeps for each device. */
export const TransportDevice = {
  lock: 0,
  /** 1 after the lock was taken over from a dead thread, until what that left unfinished is in order. */
  orphaned: 1,
  txHead: 16,
  txTail: 17,
  ackHead: 18,
  ackTail: 19,
  timers: 20,
  /** No timer expires before this, ns. */
  nextDeadline: 22 /* f64 */,
  /** The doorbell: QPs that other threads want served, written by threads that post. */
  doorbellLock: 32,
  doorbellTail: 33,
  /** The thread that wanted to look for packets last and found the lock taken: the holder wakes it when it gives the lock back. */
  looker: 34,
  doorbellHead: 48,
  txRing: 64,
  ackRing: 65600,
  timerList: 131136,
  doorbellRing: 196672,
  /** One byte for each QP: bits of `listed`. */
  flags: 262208,
  /** A `Journal`, and behind it a `PacketJournal`. */
  journal: 278592,
  packet: 278608,
  /** Packets and turns of queue pairs that other threads host: see hosting.ts. Memory for packets: its first byte, 0 before there is any. */
  mail: 278640 /* f64 */,
  /** Entries of it that were ever in use, and the first that is free again (its number + 1). */
  mailUsed: 278642,
  mailFree: 278643,
  /** A `Mailbox` for each attachment. */
  mailboxes: 278656,
  words: 286848,
  slots: 65536,
} as const

/** What a QP was before the packet of the peer that is being executed: see takeover.ts. */
export const PacketJournal = {
  epsn: 0,
  msn: 1,
  rxKind: 2,
  receive: 3,
  rkey: 4,
  plainPsn: 5,
  resTail: 6,
  /** Where the SRQ stands once a receive was taken from it, and 1 if one may have been. */
  srqTail: 7,
  takes: 8,
  /** The region (slot + 1) of a window that the packet invalidates, 0 if it invalidates none. */
  region: 9,
  rxBytes: 10 /* f64 */,
  va: 12 /* f64 */,
  remaining: 14 /* f64 */,
  /** Of an atomic: its 64-bit word in memory, and what it puts there. */
  target: 16 /* f64 */,
  value: 18 /* 64 bits */,
  words: 32,
} as const

/** What waits for one thread that hosts queue pairs. */
export const Mailbox = {
  words: 8,
  /** The use of an attachment that it is for. */
  use: 0,
  /** First and last entry (their numbers + 1), 0 if there is none; how many there are. */
  first: 1,
  last: 2,
  count: 3,
  /** 1 while there are queue pairs of that thread that are marked: `listed.host`. */
  turns: 4,
} as const

/** In which lists of the device a QP is; `host`: its turn is to come in the thread that hosts it. */
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
