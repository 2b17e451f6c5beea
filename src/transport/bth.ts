/** The base transport header, as the transport reads and writes it. */
import { defaultPkey } from '../verbs/provider/index.ts'
import { Bth, BthFlag, bthAckReqBit, put16, put24 } from '../wire/index.ts'

/** Returns the bytes of padding after the payload of the packet whose BTH is at `at`. */
export function padOf(b: Uint8Array, at: number): number {
  return (b[at + Bth.flags]! & BthFlag.pad) >> BthFlag.padShift
}

/** Writes a BTH for the destination QP `destQp`. */
export function putBth(
  b: Uint8Array,
  at: number,
  opcode: number,
  flags: number,
  destQp: number,
  ackReq: boolean,
  psn: number,
): void {
  b[at] = opcode
  // MigReq is 1 in the state Migrated, in which a QP without an alternate path is; adapters expect it.
  b[at + Bth.flags] = flags | BthFlag.migReq
  put16(b, at + Bth.pkey, defaultPkey)
  b[at + Bth.ecn] = 0
  put24(b, at + Bth.destQp, destQp)
  b[at + Bth.ackReq] = ackReq ? bthAckReqBit : 0
  put24(b, at + Bth.psn, psn)
}
