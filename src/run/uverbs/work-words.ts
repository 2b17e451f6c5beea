/** Work requests as the rxe provider writes them into a queue (rdma_user_rxe.h): words of 32 bits from the beginning of an entry. */

/** Words of a send request in the queue; the operation's own fields begin at the sixth, and are named for each. */
export const Wqe = {
  wrIdLow: 0,
  wrIdHigh: 1,
  opcode: 3,
  flags: 4,
  immOrRkey: 5,
  /** 64 bits: where the operation reads or writes at the peer, or where a window begins. */
  address: 6,
  rkey: 8,
  compareAdd: 8,
  swap: 10,
  atomicRkey: 12,
  remoteQpn: 6,
  remoteQkey: 7,
  ahNumber: 9,
  windowLength: 8,
  regionKey: 10,
  windowKey: 11,
  newWindowKey: 12,
  windowAccess: 13,
  flushRkey: 9,
  /** Two bytes: placement, selectivity. */
  flushType: 10,
  length: 46,
  sges: 49,
  data: 52,
} as const

/** Words of a receive request. */
export const Recv = { wrIdLow: 0, wrIdHigh: 1, sges: 7, data: 10 } as const

/** Address, length and key. */
export const sgeWords = 4
