/** Queries of programs about their ids: addresses, paths, and the attributes of queue pairs. */
import type { CmId } from '../../cm/index.ts'
import { hostNetwork } from '../../memory/index.ts'
import { type QpAttr, QpState, QpType } from '../../verbs/index.ts'
import { fail } from '../errnos.ts'
import { decode, encode } from '../struct.ts'
import { attributeMask } from '../uverbs/index.ts'
import { type EncodedAddress, encodeAddress, encodeGid, gidOfAddress } from './addresses.ts'
import type { Answer, Command } from './command.ts'
import { ahBytes } from './event-bytes.ts'
import { idOf } from './id-commands.ts'
import type { ProgramId } from './program-id.ts'
import * as s from './structs.ts'

const pkey = 0xffff
/** Index value: a library that has not queried the kernel by netlink does not compare it. */
const noIndex = 0xffffffff
/** IB_RATE_10_GBPS, and the selector for exact values. */
const rate = 3
const exactly = 2 << 6
/** Code of the time from one end to the other. */
const lifeTime = 16

/** Returns the device that an address has selected; a wildcard has none yet, as in the kernel. */
function device({ cm }: ProgramId): { node_guid: bigint; port_num: number } {
  const isWildcard = cm.peerAddress === undefined && /^(0\.0\.0\.0|::)$/.test(cm.localAddress.address)
  if (cm.verbs === undefined || isWildcard) return { node_guid: 0n, port_num: 0 }
  return { node_guid: cm.verbs.queryDevice().nodeGuid, port_num: cm.portNum }
}

const scopeOf = (zone: string): number => hostNetwork.interfaceIndex(zone)

function own({ cm, isIb }: ProgramId): EncodedAddress {
  const address = cm.localAddress
  return isIb ? encodeGid(gidOfAddress(address), pkey, cm.portSpace, address.port) : encodeAddress(address, scopeOf)
}

function peer({ cm, isIb }: ProgramId): EncodedAddress {
  const address = cm.peerAddress
  if (!isIb || address === undefined) return encodeAddress(address, scopeOf)
  return encodeGid(gidOfAddress(address), pkey, cm.portSpace, address.port)
}

/** Returns the parts of a path that both forms of the answer contain. */
function path(cm: CmId): { lids: { dlid: number; slid: number }; mtu: number; rest: Path } | undefined {
  const { route, verbs } = cm
  if (route === undefined || verbs === undefined) return undefined
  const { lid, activeMtu } = verbs.queryPort(1)
  const { sgid, dgid, dlid } = route
  const rest = { sgid, dgid, pkey, hop_limit: 64, traffic_class: cm.options.tos, rate: exactly | rate }
  return { lids: { dlid, slid: lid }, mtu: Math.log2(activeMtu) - 7, rest }
}
type Path = { sgid: Uint8Array; dgid: Uint8Array; pkey: number; hop_limit: number; traffic_class: number; rate: number }

/** Returns addresses and path in one answer, for libraries that only have IP addresses. */
export function queryRoute(command: Command): Answer {
  const id = idOf(command, decode(s.queryRoute, command.request).id)
  const found = path(id.cm)
  const bytes = encode(s.queryRouteAnswer, {
    ...device(id),
    src: encodeAddress(id.cm.localAddress, scopeOf).bytes,
    dst: encodeAddress(id.cm.peerAddress, scopeOf).bytes,
    num_paths: found === undefined ? 0 : 1,
    ibdev_index: noIndex,
  })
  if (found !== undefined) {
    const { lids, mtu, rest } = found
    const selectors = { mtu_selector: 2, rate_selector: 2, packet_life_time_selector: 2, packet_life_time: lifeTime }
    bytes.set(encode(s.userRoute, { ...rest, ...lids, ...selectors, rate, reversible: 1, mtu, numb_path: 1 }), 8)
  }
  return { bytes }
}

const Query = { address: 0, path: 1, gid: 2 } as const

export function query(command: Command): Answer {
  const { verb, request, room } = command
  const { id: number, option } = decode(s.query, request)
  const id = idOf(command, number)
  if (option === Query.path) return { bytes: pathAnswer(id.cm, room) }
  if (option !== Query.address && option !== Query.gid) fail('ENOSYS', `${verb}: there is no option ${option}`)
  const least = s.queryAddrAnswer.fields.ibdev_index[0]
  if (room < least) fail('ENOSPC', `${verb}: room for ${room} bytes of answer is less than ${least}`)
  const [src, dst] = option === Query.address ? [own(id), peer(id)] : gids(id)
  return {
    bytes: encode(s.queryAddrAnswer, {
      ...device(id),
      pkey: swapped(pkey),
      ...{ src: src.bytes, src_size: src.size, dst: dst.bytes, dst_size: dst.size },
      ibdev_index: noIndex,
    }),
  }
}

/** Both bytes of it are the same; but it is big endian where the rest is not. */
const swapped = (value: number): number => ((value & 0xff) << 8) | (value >> 8)

/** Returns the GIDs of source and destination. */
function gids({ cm }: ProgramId): [EncodedAddress, EncodedAddress] {
  const { route, portSpace } = cm
  const own = route?.sgid ?? cm.verbs?.queryGid(1, cm.sgidIndex) ?? new Uint8Array(16)
  const other = route?.dgid ?? new Uint8Array(16)
  return [
    encodeGid(own, pkey, portSpace, cm.localAddress.port),
    encodeGid(other, pkey, portSpace, cm.peerAddress?.port ?? 0),
  ]
}

/** IB_PATH_GMP, _PRIMARY and _BIDIRECTIONAL. */
const pathFlags = 0x2b
const reversible = 0x80

function pathAnswer(cm: CmId, room: number): Uint8Array {
  const found = path(cm)
  const bytes = new Uint8Array(s.queryPathAnswer.sizeBytes + (found === undefined ? 0 : s.pathData.sizeBytes))
  bytes.set(encode(s.queryPathAnswer, { num_paths: found === undefined ? 0 : 1 }))
  if (found === undefined || room < bytes.length) return bytes
  const { lids, mtu, rest } = found
  const data = { ...rest, ...lids, flags: pathFlags, reversible_paths: reversible | 1, mtu: exactly | mtu }
  bytes.set(encode(s.pathData, { ...data, life_time: exactly | lifeTime }), s.queryPathAnswer.sizeBytes)
  return bytes
}

const states: ReadonlySet<number> = new Set([QpState.Init, QpState.Rtr, QpState.Rts])

/** `rdma_init_qp_attr`. A UD queue pair takes the same to all states: the program leaves out what it does not need. */
export function initQpAttr(command: Command): Answer {
  const { verb, request } = command
  const { id, qp_state } = decode(s.initQpAttr, request)
  const { cm } = idOf(command, id)
  if (!states.has(qp_state))
    fail('EINVAL', `${verb}: there are attributes for INIT, RTR and RTS (1 to 3), not ${qp_state}`)
  const asked = cm.qpType === QpType.UD ? QpState.Init : qp_state
  const attr = cm.initQpAttr(asked as typeof QpState.Init | typeof QpState.Rtr | typeof QpState.Rts)
  return { bytes: qpAttrBytes({ ...attr, state: qp_state as QpState }) }
}

function qpAttrBytes(attr: Partial<QpAttr>): Uint8Array {
  const bytes = encode(s.qpAttr, {
    qp_attr_mask: attributeMask(Object.keys(attr) as (keyof QpAttr)[]),
    qp_state: attr.state ?? 0,
    cur_qp_state: attr.state ?? 0,
    path_mtu: attr.pathMtu === undefined ? 0 : Math.log2(attr.pathMtu) - 7,
    qkey: attr.qkey ?? 0,
    rq_psn: attr.rqPsn ?? 0,
    sq_psn: attr.sqPsn ?? 0,
    dest_qp_num: attr.destQpNum ?? 0,
    qp_access_flags: attr.accessFlags ?? 0,
    pkey_index: attr.pkeyIndex ?? 0,
    alt_pkey_index: attr.altPkeyIndex ?? 0,
    max_rd_atomic: attr.maxRdAtomic ?? 0,
    max_dest_rd_atomic: attr.maxDestRdAtomic ?? 0,
    min_rnr_timer: attr.minRnrTimer ?? 0,
    port_num: attr.port ?? 1,
    timeout: attr.timeout ?? 0,
    retry_cnt: attr.retryCnt ?? 0,
    rnr_retry: attr.rnrRetry ?? 0,
    alt_port_num: attr.altPort ?? 0,
    alt_timeout: attr.altTimeout ?? 0,
  })
  if (attr.ah !== undefined) bytes.set(ahBytes(attr.ah), s.qpAttrAhAt)
  if (attr.altAh !== undefined) bytes.set(ahBytes(attr.altAh), s.qpAttrAltAhAt)
  return bytes
}
