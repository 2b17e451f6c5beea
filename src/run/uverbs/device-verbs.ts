/** Queries and commands of programs on the device: its context, limits, port and GIDs. */
import { errnos } from '../../memory/index.ts'
import { type DeviceAttr, type GidEntry, type PortAttr, VerbsError } from '../../verbs/index.ts'
import { Errno, leastGidSlots } from '../door.ts'
import { decode, encode } from '../struct.ts'
import type { Answer, Command } from './command.ts'
import { fail } from './errors.ts'
import type { MethodCall } from './method-call.ts'
import type { ProgramContext } from './program-context.ts'
import {
  contextAnswer,
  deviceAnswer,
  exDeviceAnswer,
  exDeviceRequest,
  gidEntry,
  portAnswer,
  portRequest,
} from './structs.ts'

/** Capabilities IB_DEVICE_… of the adapters of this library. */
const deviceCaps =
  (1 << 1) /* BAD_PKEY_CNTR */ |
  (1 << 2) /* BAD_QKEY_CNTR */ |
  (1 << 6) /* UD_AV_PORT_ENFORCE */ |
  (1 << 10) /* PORT_ACTIVE_EVENT */ |
  (1 << 11) /* SYS_IMAGE_GUID */ |
  (1 << 12) /* RC_RNR_NAK_GEN */ |
  (1 << 13) /* SRQ_RESIZE */ |
  (1 << 17) /* MEM_WINDOW */ |
  (1 << 21) /* MEM_MGT_EXTENSIONS */ |
  (1 << 24) /* MEM_WINDOW_TYPE_2B */
/** Capabilities beyond the 32 bits of the plain answer: FLUSH_GLOBAL, ATOMIC_WRITE. */
const moreCaps = (1n << 38n) | (1n << 40n)
/** IB_UVERBS_PCF_CM_SUP. */
const portCaps = 0x10000
/** IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS: rights that may be missing are left out. */
const coreSupport = 1
export const completionVectors = 1

const atomicCaps: Readonly<Record<DeviceAttr['atomicCap'], number>> = { none: 0, hca: 1, glob: 2 }

// --- context ---------------------------------------------------------------------------------------------------------

/**
 * Prepares the opening of a context. The steps that follow may fail, so only `open` opens it; `undo` closes it if the answer cannot be
 * written to the program.
 */
function opening(context: ProgramContext, verb: string): { open: () => void; undo: () => void } {
  if (context.opened) fail('EINVAL', `${verb}: this file has a context already`)
  return {
    open: () => {
      context.opened = true
    },
    undo: () => {
      context.opened = false
    },
  }
}

export function getContext(context: ProgramContext, { call, verb }: Command): Answer {
  const { open, undo } = opening(context, verb)
  const fd = context.addAsyncFile(call)
  open()
  return { core: encode(contextAnswer, { async_fd: fd, num_comp_vectors: completionVectors }), undo }
}

export function getContextMethod(context: ProgramContext, method: MethodCall): () => void {
  const { open, undo } = opening(context, method.verb)
  queryContextMethod(context, method)
  open()
  return undo
}

export function queryContextMethod(_context: ProgramContext, method: MethodCall): void {
  method.answer('vectors', bytesOf(completionVectors, 4))
  method.answer('support', bytesOf(coreSupport, 8))
}

export function allocAsyncEvent(context: ProgramContext, method: MethodCall): void {
  method.give('descriptor', context.addAsyncFile(method.call))
}

/** Encodes a number in this number of bytes. */
export function bytesOf(value: number, length: number): Uint8Array {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value), true)
  return bytes.subarray(0, length)
}

// --- device ----------------------------------------------------------------------------------------------------------

function deviceBytes(context: ProgramContext): Uint8Array {
  const { waist } = context.station
  const attr = waist.context.queryDevice()
  return encode(deviceAnswer, {
    node_guid: attr.nodeGuid,
    sys_image_guid: attr.sysImageGuid,
    max_mr_size: waist.maxMrBytes,
    page_size_cap: attr.pageSizeCap,
    vendor_id: attr.vendorId,
    vendor_part_id: attr.vendorPartId,
    hw_ver: attr.hwVer,
    max_qp: attr.maxQp,
    max_qp_wr: attr.maxQpWr,
    device_cap_flags: deviceCaps,
    max_sge: attr.maxSge,
    max_sge_rd: attr.maxSgeRd,
    max_cq: attr.maxCq,
    max_cqe: attr.maxCqe,
    max_mr: attr.maxMr,
    max_pd: attr.maxPd,
    max_qp_rd_atom: attr.maxQpRdAtom,
    max_res_rd_atom: attr.maxResRdAtom,
    max_qp_init_rd_atom: attr.maxQpInitRdAtom,
    // Memory of programs is read and written by two calls: atomic among an adapter's operations, and no more.
    atomic_cap: attr.atomicCap === 'none' ? atomicCaps.none : atomicCaps.hca,
    max_mw: attr.maxMw,
    max_mcast_grp: attr.maxMcastGrp,
    max_mcast_qp_attach: attr.maxMcastQpAttach,
    max_total_mcast_qp_attach: attr.maxTotalMcastQpAttach,
    max_ah: attr.maxAh,
    max_srq: attr.maxSrq,
    max_srq_wr: attr.maxSrqWr,
    max_srq_sge: attr.maxSrqSge,
    max_pkeys: attr.maxPkeys,
    local_ca_ack_delay: attr.localCaAckDelay,
    phys_port_cnt: attr.physPortCnt,
  })
}

export function queryDevice(context: ProgramContext): Answer {
  return { core: deviceBytes(context) }
}

export function exQueryDevice(context: ProgramContext, { core, coreRoom, verb }: Command): Answer {
  const { comp_mask, reserved } = decode(exDeviceRequest, core)
  if (comp_mask !== 0 || reserved !== 0)
    fail('EINVAL', `${verb}: comp_mask is 0x${comp_mask.toString(16)}, and has no bits`)
  const { sizeBytes } = exDeviceAnswer
  const bytes = encode(exDeviceAnswer, {
    response_length: Math.min(coreRoom, sizeBytes),
    device_cap_flags_ex: BigInt(deviceCaps) | moreCaps,
  })
  bytes.set(deviceBytes(context))
  return { core: bytes }
}

// --- port ------------------------------------------------------------------------------------------------------------

const mtuCode = (bytes: number): number => Math.log2(bytes) - 7

function portBytes(context: ProgramContext, port: number, verb: string): Uint8Array {
  const attr = queryPort(context, port, verb)
  return encode(portAnswer, {
    port_cap_flags: portCaps,
    max_msg_sz: attr.maxMsgSz,
    bad_pkey_cntr: attr.badPkeyCntr,
    qkey_viol_cntr: attr.qkeyViolCntr,
    gid_tbl_len: gidSlots(attr),
    pkey_tbl_len: attr.pkeyTblLen,
    lid: attr.lid,
    sm_lid: attr.smLid,
    state: attr.state,
    max_mtu: mtuCode(attr.maxMtu),
    active_mtu: mtuCode(attr.activeMtu),
    lmc: attr.lmc,
    max_vl_num: attr.maxVlNum,
    sm_sl: attr.smSl,
    active_width: attr.activeWidth,
    active_speed: attr.activeSpeed,
    phys_state: attr.physState,
    link_layer: attr.linkLayer,
    // On Ethernet every path is a global one.
    flags: attr.linkLayer === 2 ? 1 : 0,
    active_speed_ex: attr.activeSpeed,
  })
}

function queryPort(context: ProgramContext, port: number, verb: string): PortAttr {
  const { physPortCnt } = context.station.waist.context.queryDevice()
  if (port < 1 || port > physPortCnt)
    fail('EINVAL', `${verb}: port_num is ${port}; the device has ports 1 to ${physPortCnt}`)
  return context.station.waist.context.queryPort(port)
}

export function queryPortCommand(context: ProgramContext, { core, verb }: Command): Answer {
  return { core: portBytes(context, decode(portRequest, core).port_num, verb).subarray(0, 40) }
}

export function queryPortMethod(context: ProgramContext, method: MethodCall): void {
  method.answer('answer', portBytes(context, method.number('port'), method.verb))
}

// --- GIDs ------------------------------------------------------------------------------------------------------------

const gidSlots = ({ gidTblLen }: PortAttr): number => Math.max(gidTblLen, leastGidSlots)

function gidBytes(entry: GidEntry): Uint8Array {
  return encode(gidEntry, {
    gid: entry.gid,
    gid_index: entry.gidIndex,
    port_num: entry.portNum,
    gid_type: entry.gidType,
    netdev_ifindex: entry.ndevIfindex,
  })
}

export function queryGidTable(context: ProgramContext, method: MethodCall): void {
  const { verb } = method
  const entryBytes = method.number('entryBytes')
  if (method.number('flags') !== 0) fail('EINVAL', `${verb}: flags has bits that mean nothing`)
  if (!(entryBytes > 0 && entryBytes <= 4096)) fail('EINVAL', `${verb}: entry_size is ${entryBytes}`)
  const gids = context.station.waist.context.queryGidTable()
  const room = Math.floor(method.room('entries') / entryBytes)
  if (gids.length > room)
    fail('EINVAL', `${verb}: room for ${room} entries is less than the ${gids.length} of the table`)
  const entries = new Uint8Array(gids.length * entryBytes)
  gids.forEach((entry, i) => {
    entries.set(gidBytes(entry).subarray(0, entryBytes), i * entryBytes)
  })
  method.answer('entries', entries)
  method.answer('count', bytesOf(gids.length, 8))
}

export function queryGidEntry(context: ProgramContext, method: MethodCall): void {
  const { verb } = method
  const port = method.number('port')
  const index = method.number('index')
  if (method.number('flags') !== 0) fail('EINVAL', `${verb}: flags has bits that mean nothing`)
  const slots = gidSlots(queryPort(context, port, verb))
  if (index >= slots) fail('EINVAL', `${verb}: index is ${index}; the table has ${slots} entries`)
  try {
    method.answer('entry', gidBytes(context.station.waist.context.queryGidEx(port, index)))
  } catch (error) {
    if (error instanceof VerbsError && error.code === 'ENODATA')
      throw new Errno(errnos.ENODATA, `${verb}: GID ${index} is not in use`, true)
    throw error
  }
}
