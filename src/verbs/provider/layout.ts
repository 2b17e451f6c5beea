/**
 * The fixed layout of queues and tables in a segment. All offsets are in 32-bit words; `f64` marks pairs of words that
 * hold a number as a double. Words that different threads write are in different cache lines (16 words), because a
 * line that travels between two cores costs more than all checks of a message together.
 *
 *     tables start ── device records │ contexts │ PDs │ channels │ SRQs │ CQs │ QPs │ keys │ multicast │ pending
 */

export const line = 16

export const maxDevices = 64
export const maxContexts = 1024
export const maxPds = 16384
export const maxChannels = 4096
export const maxSrqs = 4096
export const maxCqs = 65536
export const maxQps = 65536
/** Slots of the key table, which holds regions and windows; at most half of them are used, so that look-ups stay short. */
export const keySlots = 262144
export const maxKeys = 131072
export const maxMcastEntries = 8192
/** Queue pairs that stand for QP 1, of all devices and threads: see gsi.ts. */
export const maxAgents = 1024
export const maxServices = 8192
/** Requests for shared services that are remembered: a power of two. */
export const maxRecentRequests = 1024
/** IP ports that connection managers have taken: see ports.ts. */
export const maxPorts = 65536
/** Slots of the table from QP numbers to QPs. */
export const qpNumberSlots: number = 2 * maxQps

/** A device: the state that all its contexts share. */
export const Dev = {
  words: 320,
  state: 0,
  guidHigh: 1,
  guidLow: 2,
  lid: 3,
  ahs: 16,
  mws: 17,
  mrs: 18,
  qkeyViolations: 19,
  badPkeys: 20,
  /** Flag of a device on a network: see transport/. */
  transport: 32,
  /** Words of the device's driver: see devices/roce. */
  driver: 33 /* 31 words */,
  /** Counters, one f64 for each name in `counterNames`. */
  counters: 64,
  /** Counters of management attributes at the time they were set, minus the values set: f64. See run/umad. */
  managementBases: 256 /* 28 words */,
  /** Values that a subnet manager has set, in the form of PortInfo; zeros: nothing is set. */
  portInfo: 288 /* 16 words */,
  /** The thread that is subnet manager of the port, as the use of an attachment (`lockValue`); 0 without one. */
  subnetManager: 304,
} as const

/** Threads that drive a device on a network: all threads, the thread that drives devices, or the thread that has opened it. */
export const drivenBy = { all: 0, service: 1, opener: 2 } as const

export const Ctx = {
  words: 2048,
  state: 0,
  ref: 1,
  owner: 2,
  engine: 3,
  device: 4,
  /** 1 while the device counts it among its users. */
  uses: 5,
  /** Doorbells of an engine thread: see EngineRing below. */
  doorbellLock: 16,
  doorbellTail: 17,
  doorbellHead: 32,
  doorbellWake: 33,
  eventLock: 48,
  eventTail: 49,
  eventsLost: 50,
  /** Counts events, and ends of contexts in this place: the owner waits for it to change. */
  eventSequence: 51,
  eventHead: 64,
  /** Ring of async events: type, element kind, the element's reference (of a port its number), QP number. */
  events: 128,
  eventSlots: 256,
  doorbellSleeping: 34,
  doorbellStop: 35,
  doorbellReady: 36,
  /** 1 when the ring was full and a doorbell could not be written. */
  doorbellMissed: 37,
  doorbells: 1152,
  doorbellSlots: 512,
} as const

export const Pd = {
  words: 16,
  state: 0,
  ref: 1,
  owner: 2,
  mrs: 3,
  mws: 4,
  qps: 5,
  srqs: 6,
  ahs: 7,
  context: 8,
} as const

export const Chan = {
  words: 32,
  state: 0,
  ref: 1,
  owner: 2,
  cqs: 3,
  context: 4,
  lock: 16,
  /** References to the first and last CQ with an event to deliver, 0 if there is none. */
  head: 17,
  tail: 18,
  /** Counts events, and ends of channels in this place. The thread that waits for them is the owner. */
  sequence: 19,
} as const

export const Cq = {
  words: 80,
  state: 0,
  ref: 1,
  ring: 2,
  mask: 3,
  cqe: 4,
  channel: 5,
  context: 6,
  device: 7,
  owner: 8,
  refs: 9,
  singleThreaded: 10,
  /** 1 while it is resized: then no QP counts as its only producer. */
  resizing: 11,
  /** Send and receive queues that may still complete to it: those that count in `refs`, and those of closed QPs until they are reclaimed. */
  producers: 12,
  /** 1 if it is made for many producers: then all of them lock it, even while there is one alone. */
  crowded: 13,
  /** Written by producers, which complete work requests. */
  lock: 16,
  head: 17,
  tailSeen: 18,
  /** Written by the consumer, which polls. */
  pollLock: 32,
  tail: 33,
  /** One of `cqArmed`. */
  armed: 48,
  /** The next CQ (reference) in the list of the channel, and how many events this CQ has in it. */
  next: 64,
  events: 65,
  unacknowledged: 66,
  /** 1 while a thread that closes it waits for that to be 0. */
  closing: 67,
} as const

/** States of a CQ. `dead`: destroyed; its owner ended while queue pairs of other threads used it, and the last of them frees the record. */
export const cqState = { free: 0, live: 1, overrun: 2, dead: 3 } as const

/**
 * Events for which a CQ is armed. `due`: none any more, since the event for which it was is being made; if the thread that makes it is killed,
 * `repairEvents` does.
 */
export const cqArmed = { none: 0, solicited: 1, any: 2, due: 3 } as const

/** States of SRQs and PDs; `dead` as for CQs. */
export const recordState = { free: 0, live: 1, dead: 3 } as const

/**
 * A completion, one cache line. `sequence` is the ring position plus one and is written last. `what` packs status,
 * opcode and flags, a byte each: see `packWhat`.
 */
export const Cqe = {
  words: 16,
  sequence: 0,
  what: 1,
  wrId: 2 /* f64 */,
  byteLen: 4,
  immData: 5,
  qpNum: 6,
  /** Receive: the sender's QP number (UD), else 0. Send: the position after it in its queue, which polling releases. */
  srcQpOrReleases: 7,
  qpSlot: 8,
  /** UD: source LID, and the service level in the upper half. */
  slid: 9,
  /** Receive: position of the receive queue of its QP (`rqTail`) after it. */
  rqTail: 10,
  /** Word without meaning: a producer on shared memory writes it early, to have the line in time. */
  claim: 11,
} as const

/** A status that no completion has: the QP is gone, polling passes over it. */
export const statusPurged = 0xff

/** Flag beside those that polling gives: the sender requested a solicited event. Only a CQ that `tellsSolicited` shows it. */
export const solicitedFlag = 0x100

export function packWhat(status: number, opcode: number, flags: number): number {
  return status | (opcode << 8) | (flags << 16)
}

export const Srq = {
  words: 64,
  state: 0,
  ref: 1,
  context: 2,
  owner: 3,
  refs: 4,
  pd: 5,
  maxWr: 6,
  maxSge: 7,
  ring: 8,
  mask: 9,
  stride: 10,
  limit: 11,
  /** 1: its owner posts receives to it when a message finds none (`Host.refill`). */
  hosted: 12,
  device: 13,
  postLock: 16,
  head: 17,
  lock: 32,
  tail: 33,
  /** First QP (slot + 1) that waits for a receive here. */
  waiting: 48,
} as const

export const Qp = {
  words: 160,
  /** Negative once it is closed: nothing is found by that, and no completion is its. */
  number: 0,
  ref: 1,
  state: 2,
  device: 3,
  context: 4,
  pd: 5,
  sendCq: 6,
  recvCq: 7,
  srq: 8,
  sqSigAll: 9,
  sqMask: 10,
  sqStride: 11,
  sqRing: 12,
  rqMask: 13,
  rqStride: 14,
  rqRing: 15,

  maxSendWr: 16,
  maxRecvWr: 17,
  maxSendSge: 18,
  maxRecvSge: 19,
  maxInlineData: 20,
  owner: 21,
  /** Executor of its requests: see `qpEngine`. */
  engine: 22,
  destQpNum: 23,
  /** Index of the destination device, −1 if the address vector leads nowhere. */
  destDevice: 24,
  accessFlags: 25,
  pathMtu: 26,
  qkey: 27,
  port: 28,
  pkeyIndex: 29,
  mcastRefs: 30,
  type: 31,

  rqPsn: 32,
  sqPsn: 33,
  maxDestRdAtomic: 34,
  maxRdAtomic: 35,
  minRnrTimer: 36,
  timeout: 37,
  retryCnt: 38,
  rnrRetry: 39,
  pathMigState: 40,
  altPkeyIndex: 41,
  altPort: 42,
  altTimeout: 43,
  sqDrainNotify: 44,
  sqDraining: 45,
  /** Slot of the destination QP where it was last found; its number is compared before use. */
  destSlot: 46,
  /** 1 while the doorbell of an engine thread holds this QP. */
  rung: 47,

  /** The send queue: written by threads that post or execute. */
  sqLock: 48,
  sqHead: 49,
  /** Next request to execute. */
  sqNext: 50,
  /** Position of the queue when SQD was entered: requests from here on wait. */
  sqDrainAt: 51,
  pending: 52,
  retriesLeft: 53,
  rnrLeft: 54,
  /** Nanoseconds of the monotonic clock at which the pending request is tried again. */
  deadline: 56 /* f64 */,
  /** Next QP (slot + 1) that waits for the same SRQ. */
  nextWaiting: 58,
  waitingOn: 59,
  /** The one thread (attachment) that may use the send queue without its lock; 0 none yet, −1 none any more. */
  bias: 60,

  /** Requests before this one have been released by polling. */
  sqTail: 64,

  rqPostLock: 80,
  rqHead: 81,
  /** The responder's `rqTail` as last known, from completions or by looking; looked at only when the queue looks full. */
  rqTailSeen: 82,

  /** The responder: written by the thread that executes a request of the peer. */
  rqLock: 96,
  rqTail: 97,
  lastWqe: 99,
  /** 1 when CommEst was raised, by a device without packets. */
  commEst: 100,

  /** A QP (slot + 1) whose request waits for a receive here: read with every receive posted, written hardly ever. */
  rqWaiting: 112,

  /**
   * Use of the attachment to which the request at the front was handed over, 0 if to none: that thread hosts the peer. The data that the
   * request sends, or gets, is then in memory of the QP's owner in the segment, if the owner hosts the QP: its first page and bytes, and a
   * flag that the other thread has filled it.
   */
  executor: 113,
  stage: 114,
  staged: 115,
  stageFilled: 116,
  /** Attachment to whose members a multicast request that was handed over is delivered. */
  mcastOwner: 117,

  /** First word of the device's state for this QP, after its queues (`Device.qpWords`). */
  wire: 124,

  av: 128,
  altAv: 144,

  /** GSI: its place in the table of agents, plus one. */
  agent: 156,
  /** Communication IDs of the connection that the QP belongs to, for the clean-up after its thread: see farewells.ts. 0: none. */
  localCommId: 157,
  remoteCommId: 158,
} as const

/**
 * Executor of the requests of a QP: the thread that posts (or any other of the segment, where they had to wait), the engine thread of its
 * context, or its owner alone. The owner of a hosted QP does so because it alone reaches the memory that the requests name, and posts
 * receives to it when a message finds none (`Host.refill`).
 */
export const qpEngine = { poster: 0, thread: 1, hosted: 2 } as const

/** An address vector as a QP or a UD request keeps it. */
export const Av = {
  words: 12,
  device: 0,
  dlid: 1,
  sl: 2,
  flags: 3,
  trafficClass: 4,
  hopLimit: 5,
  flowLabel: 6,
  sgidIndex: 7,
  gid: 8,
} as const
/** Bits of `Av.flags`; above them the path bits of the source and the rate. */
export const avGlobal = 1
export const avMulticast = 2
export const avPathBitsShift = 8
export const avRateShift = 16

/** A send work request in its queue; scatter/gather elements or inline data follow the header. */
export const Wqe = {
  opcode: 0,
  flags: 1,
  wrId: 2 /* f64 */,
  immData: 4,
  sges: 5,
  inlineLength: 6,
  rkey: 7,
  remoteAddr: 8 /* f64 */,
  length: 10 /* f64: FLUSH, BIND_MW */,
  compareAdd: 12 /* 64 bits */,
  swap: 14 /* 64 bits */,
  remoteQpn: 16,
  remoteQkey: 17,
  access: 18,
  mrKey: 19,
  av: 20,
  data: 32,
} as const

/** A receive work request: header, then scatter/gather elements. */
export const Rwqe = { wrId: 0 /* f64 */, sges: 2, data: 4 } as const
export const Sg = { words: 4, addr: 0 /* f64 */, length: 2, lkey: 3 } as const

/** An entry of the key table. The upper 24 bits of the key choose the slot where the search begins. */
export const Key = {
  words: 16,
  key: 0,
  kind: 1,
  pd: 2,
  access: 3,
  /** Address in the segment; negative: in another process, see process-regions.ts. */
  addr: 4 /* f64 */,
  length: 6 /* f64 */,
  iova: 8 /* f64 */,
  /** Window: slot of the region that it is bound to, or −1. Region: number of windows bound to it. */
  region: 10,
  qp: 11,
  /** Link of a `retired` key: see graves.ts. */
  owner: 12,
  valid: 13,
  device: 14,
  /** Window: key of the region that it is bound to, which distinguishes that region from another in the same slot. */
  regionKey: 15,
  /** Region in another process: the value that `Device.reachProcess` returned for it, else 0. */
  process: 15,
} as const
export const keyKind = { free: 0, region: 1, window1: 2, window2: 3, deleted: 4, retired: 5 } as const

/** Next action of the holder of a device's lock that may be done only once: see journal.ts. */
export const Journal = {
  /** Written last when something begins, 0 when it is done. */
  stage: 0,
  /** A reference to the QP. */
  qp: 1,
  /** Position of its queue afterwards: `sqNext` or `rqTail`. Window: the index of the request. */
  queue: 2,
  /** The completion: its sequence, and what is in it. */
  sequence: 3,
  what: 4,
  byteLen: 5,
  immData: 6,
  srcQpOrReleases: 7,
  wrId: 8 /* f64 */,
  solicited: 10,
  /** The entry of a window, the key that it had, and the slot of the region that it was bound to, or −1. */
  window: 11,
  windowKey: 12,
  windowRegion: 13,
  words: 16,
} as const

export const journalStage = { none: 0, packet: 1, receive: 2, send: 3, window: 4, atomic: 5 } as const

export const Mcast = { words: 8, state: 0, device: 1, qpSlot: 2, qpNum: 3, gid: 4 } as const

/** A queue pair of type GSI: one of those that share QP 1 of their device. `qpNum` is 0 while the record is free. */
export const Agent = {
  words: 16,
  qpNum: 0,
  device: 1,
  qpSlot: 2,
  /** 1: it takes MADs of all classes but that of the communication manager, which takes those alone: see mad-classes.ts. */
  takesMads: 3,
} as const

/** A service ID for which an agent takes requests; agents that give the same `group`, not 0, share it. */
export const Service = {
  words: 16,
  state: 0,
  agent: 1,
  qpNum: 2,
  device: 3,
  idHigh: 4,
  idLow: 5,
  maskHigh: 6,
  maskLow: 7,
  group: 8,
  /** Counter, in the record of the first agent of a group, that selects the agent of the next request. */
  turn: 9,
  /** Addresses to which the requests are sent: see served.ts. */
  served: 10 /* 5 words */,
} as const

/** Record in the same table, of `state` 2: a class of MADs, and methods of it, of which requests go to an agent. See mad-classes.ts. */
export const MadClass = {
  state: 0,
  agent: 1,
  qpNum: 2,
  device: 3,
  mgmtClass: 4,
  classVersion: 5,
  /** OUI, of the classes that have one. */
  oui: 6,
  /** ID by which its queue pair names the agent. */
  id: 7,
  /** A bit for each method. */
  methods: 10 /* 4 words */,
} as const
export const serviceState = { free: 0, service: 1, madClass: 2 } as const

/** Agent, by the number of its queue pair, to which a request for a shared service went; `key` identifies the request. */
export const RecentRequest = { words: 2, key: 0, qpNum: 1 } as const

/** Connection of a thread that died, whose peer is to be notified: see farewells.ts. */
export const Farewell = {
  words: 18,
  /** Number of the entry; 0 after it was taken. */
  number: 0,
  device: 1,
  localCommId: 2,
  remoteCommId: 3,
  remoteQpn: 4,
  av: 6,
} as const
/** A power of two. */
export const maxFarewells = 512

/** IP port of a port space that a thread has bound, and the chain of those with the same number. */
export const Port = {
  words: 16,
  state: 0,
  ref: 1,
  space: 2,
  port: 3,
  next: 4,
  reuse: 5,
  listening: 6,
  owner: 7,
  /** Addresses of the port: see served.ts. */
  served: 8 /* 5 words */,
  /** Group number, or 0: listeners in other threads that give the same number share the port. */
  group: 13,
} as const

/** The list of QPs whose head request waits for a time or for the peer. */
export const PendingList = { lock: 0, count: 16, list: 32 } as const

/** Words at the start of the tables. */
export const Meta = {
  initialised: 0,
  mcastHigh: 1,
  keysUsed: 2,
  qpsUsed: 3,
  cqsUsed: 4,
  srqsUsed: 5,
  pdsUsed: 6,
  channelsUsed: 7,
  contextsUsed: 8,
  agentsUsed: 10,
  servicesUsed: 11,
  portsUsed: 12,
  farewells: 13,
  /**
   * Closed objects that are not reclaimed yet: link to the first object that waits for a grace period to begin, number of such objects, and
   * link to the first of those whose grace period has begun; number of checks whether that is over. See reclaim.ts.
   */
  retired: 24,
  retiredCount: 25,
  leaving: 26,
  graceLooks: 27,
  /** Bytes of memory of the objects that wait for a grace period to begin: about, after a thread has died. */
  retiredBytes: 28,
  /** The thread that drives devices on sockets while programs do not: see devices/roce/service.ts. */
  serviceOwner: 16,
  /** Counts what it is woken for. */
  serviceWake: 18,
  /** Time at which it checks whether programs still drive their devices. */
  serviceLooksAt: 20 /* f64 */,
  /** 1 when the process ends, 2 when the thread has done what it had to. */
  serviceStop: 22,
  /** Counts where it begins and ends to wait in the kernel: odd while it may be there. */
  serviceTurns: 23,
  /** The lock of atomic operations on memory of other processes. */
  processAtomics: 48,
  /** Positions at which the search for a free record begins, for each table in `Records`. */
  hints: 32 /* 7 words */,
} as const

let slotWords = 0
let recordKinds = 0

/**
 * The tables whose records are taken and given back. Word 0 of a record is 0 while it is free, word 1 (`ref`) is its name:
 * see records.ts. `high` and `hint` are words of `Meta`: how many records were ever in use, and where the search for a free
 * one begins. Some words stay as they are when a record is used again, since a thread may remember its former object: it
 * may hold one of `locks` for a moment, and wait for one of `counts`.
 */
export const Records: Readonly<Record<'context' | 'pd' | 'channel' | 'srq' | 'cq' | 'qp' | 'port', RecordTable>> = {
  context: record(
    'contexts',
    Ctx.words,
    maxContexts,
    Meta.contextsUsed,
    [Ctx.doorbellLock, Ctx.eventLock],
    [Ctx.eventSequence],
  ),
  pd: record('pds', Pd.words, maxPds, Meta.pdsUsed, []),
  channel: record('channels', Chan.words, maxChannels, Meta.channelsUsed, [Chan.lock], [Chan.sequence]),
  srq: record('srqs', Srq.words, maxSrqs, Meta.srqsUsed, [Srq.postLock, Srq.lock]),
  cq: record('cqs', Cq.words, maxCqs, Meta.cqsUsed, [Cq.lock, Cq.pollLock]),
  qp: record('qps', Qp.words, maxQps, Meta.qpsUsed, [Qp.sqLock, Qp.rqPostLock, Qp.rqLock]),
  port: record('ports', Port.words, maxPorts, Meta.portsUsed, []),
}

export type RecordKind = keyof typeof Records

export interface RecordTable {
  table: Table
  words: number
  max: number
  high: number
  hint: number
  /** First word of its bits in `Tables.slots`. */
  bits: number
  locks: readonly number[]
  counts: readonly number[]
}

function record(
  table: Table,
  words: number,
  max: number,
  high: number,
  locks: readonly number[],
  counts: readonly number[] = [],
): RecordTable {
  const bits = slotWords
  slotWords += max / 32
  return { table, words, max, high, hint: Meta.hints + recordKinds++, bits, locks, counts }
}

type Table =
  | 'meta'
  | 'devices'
  | 'contexts'
  | 'pds'
  | 'channels'
  | 'srqs'
  | 'cqs'
  | 'qps'
  | 'qpNumbers'
  | 'keys'
  | 'mcast'
  | 'agents'
  | 'services'
  | 'farewells'
  | 'recentRequests'
  | 'portHeads'
  | 'ports'
  | 'pending'
  | 'keyBits'
  | 'slots'

/** First word of each table from the start of the static area, in order; `words` is their total. */
function tables(): Record<Table | 'words', number> {
  let words = 0
  const place = (count: number, each: number): number => {
    const at = words
    words += Math.ceil((count * each) / line) * line
    return at
  }
  return {
    meta: place(1, 64),
    devices: place(maxDevices, Dev.words),
    contexts: place(maxContexts, Ctx.words),
    pds: place(maxPds, Pd.words),
    channels: place(maxChannels, Chan.words),
    srqs: place(maxSrqs, Srq.words),
    cqs: place(maxCqs, Cq.words),
    qps: place(maxQps, Qp.words),
    qpNumbers: place(qpNumberSlots, 1),
    keys: place(keySlots, Key.words),
    /** A bit for each slot of the key table that is in use: see key-slots.ts. */
    keyBits: place(1, keySlots / 32),
    mcast: place(maxMcastEntries, Mcast.words),
    agents: place(maxAgents, Agent.words),
    services: place(maxServices, Service.words),
    farewells: place(maxFarewells, Farewell.words),
    recentRequests: place(maxRecentRequests, RecentRequest.words),
    portHeads: place(65536, 1),
    ports: place(maxPorts, Port.words),
    pending: place(1, PendingList.list + maxQps),
    /** A bit for each record of each table in `Records` that is in use. */
    slots: place(1, slotWords),
    /** Words of all tables together. */
    words: words,
  }
}

export const Tables: Readonly<Record<Table | 'words', number>> = tables()

/**
 * Tables that are found through hashes, or have no high-water mark: byte offsets and lengths. A segment has memory for them
 * from the beginning, for the records of the others as they come into use (`takeRecord`).
 */
export function unorderedTables(): [offset: number, lengthBytes: number][] {
  const range = (from: Table, to: Table | 'words'): [number, number] => [
    Tables[from] * 4,
    (Tables[to] - Tables[from]) * 4,
  ]
  return [range('meta', 'contexts'), range('qpNumbers', 'ports'), range('pending', 'words')]
}

export const counterNames = [
  'remote_access_errors',
  'remote_invalid_requests',
  'resp_remote_access_errors',
  'local_errors',
  'uc_drops_no_receive',
  'uc_drops_access',
  'uc_drops_length',
  'ud_drops_no_receive',
  'ud_drops_qkey',
  'ud_drops_length',
  'cq_overruns',
  'events_lost',
  'stale_objects_reaped',
  'service_failures',
  'takeovers',
  // Names of Linux Soft-RoCE first.
  'sent_pkts',
  'rcvd_pkts',
  'duplicate_request',
  'out_of_seq_request',
  'rcvd_rnr_err',
  'send_rnr_err',
  'rcvd_seq_err',
  'ack_deferred',
  'retry_exceeded_err',
  'retry_rnr_exceeded_err',
  'completer_retry_err',
  'send_err',
  'rdma_sends',
  'rdma_recvs',
  'sent_bytes',
  'rcvd_bytes',
  'loopback_pkts',
  'retransmitted_pkts',
  'timeouts',
  'early_retransmits',
  'naks_sent',
  'naks_rcvd',
  'cnps_sent',
  'cnps_rcvd',
  'ecn_marked',
  'icrc_errors',
  'drops_malformed',
  'drops_opcode',
  'drops_pkey',
  'drops_no_qp',
  'drops_qp_state',
  'drops_source',
  'drops_unexpected_ack',
  'drops_duplicate_unknown',
  'drops_nak_pending',
  'drops_uc_sequence',
  'drops_no_path',
  'drops_socket_buffer',
  'drops_host_busy',
  'gsi_drops_malformed',
  'gsi_drops_no_agent',
  'mad_drops_queue',
  'mad_drops_unmatched',
  'cm_drops_source',
  'cm_drops_unknown_id',
  'cm_drops_unexpected',
  'cm_drops_qpn',
  'cm_drops_backlog',
  'cm_drops_limit',
  'cm_drops_moved',
  'cm_drops_malformed',
  'cm_drops_queue',
  'cm_sends_dropped',
  'cm_requests_evicted',
  'cm_timeouts',
  'injected_losses',
  'injected_duplicates',
  'injected_corruptions',
  'injected_delays',
  'injected_reorderings',
] as const
export type CounterName = (typeof counterNames)[number]
