/** Commands of ids and their addresses: create, bind, resolve, set options, migrate to another event channel, destroy. */
import { type CmId, PortSpace } from '../../cm/index.ts'
import { QpType } from '../../verbs/index.ts'
import { fail } from '../errnos.ts'
import { decode, encode } from '../struct.ts'
import { decodeAddress, hasAddress, type ProgramAddress } from './addresses.ts'
import type { Answer, Command } from './command.ts'
import type { ProgramId } from './program-id.ts'
import * as s from './structs.ts'

export const idOf = ({ file, verb }: Command, number: number): ProgramId => file.door.id(verb, file, number)

export const numberAnswer = (value: number): Uint8Array => encode(s.oneNumber, { value })

/** Returns the queue pair type of ids by port space; for RDMA_PS_IB the program gives it. */
function qpTypeOf(verb: string, ps: number, asked: number): QpType {
  if (ps === PortSpace.Tcp) return QpType.RC
  if (ps === PortSpace.Udp || ps === PortSpace.IpOIb) return QpType.UD
  if (ps !== PortSpace.Ib)
    fail('EINVAL', `${verb}: there is no port space 0x${ps.toString(16)}; there are TCP, UDP, IPOIB and IB`)
  if (asked !== QpType.RC && asked !== QpType.UC && asked !== QpType.UD)
    fail('EINVAL', `${verb}: ids have queue pairs of type RC, UC and UD, not ${asked}`)
  return asked
}

export function createId({ file, verb, request }: Command): Answer {
  const { uid, ps, qp_type } = decode(s.createId, request)
  const qpType = qpTypeOf(verb, ps, qp_type)
  const id = file.door.addId(file, file.channel.createId(ps as PortSpace, { qpType }), uid)
  return {
    bytes: numberAnswer(id.number),
    undo() {
      file.door.forgetId(id)
      id.cm.close()
    },
  }
}

export function destroyId(command: Command): Answer {
  const { door } = command.file
  const id = idOf(command, decode(s.destroyId, command.request).id)
  door.forgetId(id)
  id.cm.close()
  door.forgetWithdrawn()
  return { bytes: numberAnswer(id.reported) }
}

/**
 * Returns the id of our CM for an address. With RDMA_PS_IB the service id of the address names the port space, which our id needs when it
 * is created.
 */
function cmOf(id: ProgramId, { isIb, portSpace }: ProgramAddress): CmId {
  const { cm } = id
  if (isIb) id.isIb = true
  const isOther = portSpace !== undefined && portSpace !== cm.portSpace
  if (!isOther || cm.portSpace !== PortSpace.Ib || cm.state !== 'idle') return cm
  if (!Object.values<number>(PortSpace).includes(portSpace)) return cm
  const { qpType } = cm
  const made = id.file.channel.createId(portSpace as PortSpace, { qpType, context: id })
  Object.assign(made.options, cm.options)
  id.cm = made
  cm.close()
  return made
}

export function bindIp(command: Command): undefined {
  const { addr, id } = decode(s.bindIp, command.request)
  bindTo(command, id, decodeAddress(command.verb, addr))
}

export function bind(command: Command): undefined {
  const { addr, addr_size, id } = decode(s.bind, command.request)
  bindTo(command, id, decodeAddress(command.verb, addr, addr_size))
}

function bindTo(command: Command, number: number, address: ProgramAddress): void {
  cmOf(idOf(command, number), address).bindAddr(address)
}

export function resolveIp(command: Command): undefined {
  const { src, dst, id, timeout_ms } = decode(s.resolveIp, command.request)
  const source = hasAddress(src) ? decodeAddress(command.verb, src) : undefined
  resolveTo(command, id, source, decodeAddress(command.verb, dst), timeout_ms)
}

export function resolveAddr(command: Command): undefined {
  const { src, src_size, dst, dst_size, id, timeout_ms } = decode(s.resolveAddr, command.request)
  const source = src_size > 0 ? decodeAddress(command.verb, src, src_size) : undefined
  resolveTo(command, id, source, decodeAddress(command.verb, dst, dst_size), timeout_ms)
}

function resolveTo(
  command: Command,
  number: number,
  source: ProgramAddress | undefined,
  destination: ProgramAddress,
  timeoutMs: number,
): void {
  const id = idOf(command, number)
  cmOf(id, destination).resolveAddr(source, destination, Math.max(0, timeoutMs))
}

export function resolveRoute(command: Command): undefined {
  const { id, timeout_ms } = decode(s.resolveRoute, command.request)
  idOf(command, id).cm.resolveRoute(Math.max(0, timeout_ms))
}

export function migrateId(command: Command): Answer {
  const { file, call, verb, request } = command
  const { id: number, fd } = decode(s.migrateId, request)
  const from = file.door.fileOf(call.fileAt(fd))
  if (from === undefined) fail('EINVAL', `${verb}: descriptor ${fd} is no event channel`)
  const id = file.door.id(verb, from, number)
  id.file = file
  id.cm.migrateId(file.channel)
  // Where the last event has gone with it, the old channel polls readable no more.
  file.door.arrived(from)
  return { bytes: numberAnswer(id.reported) }
}

const Option = { idLevel: 0, ibLevel: 1, tos: 0, reuseAddr: 1, afOnly: 2, ackTimeout: 3, ibPath: 1 } as const
const mostOptionBytes = 4096

export function setOption(command: Command): undefined {
  const { call, verb, request } = command
  const { id, level, optname, optlen, optval } = decode(s.setOption, request)
  const { cm } = idOf(command, id)
  if (optlen > mostOptionBytes) fail('EINVAL', `${verb}: a value of ${optlen} bytes is longer than any`)
  const value = new Uint8Array(optlen)
  if (!(optval <= Number.MAX_SAFE_INTEGER)) fail('EFAULT', `${verb}: the address of the value is none of a process`)
  call.process.read(optval, value)
  /** Returns an option's value, which must have this number of bytes. */
  const number = (bytes: number): number => {
    if (optlen !== bytes) fail('EINVAL', `${verb}: this option has ${bytes} bytes, not ${optlen}`)
    const view = new DataView(value.buffer)
    return bytes === 1 ? view.getUint8(0) : view.getInt32(0, true)
  }
  if (level === Option.ibLevel) {
    if (optname !== Option.ibPath) fail('ENOSYS', `${verb}: there is no option ${optname} of level IB`)
    if (optlen === 0 || optlen % s.pathData.sizeBytes !== 0)
      fail('EINVAL', `${verb}: paths have ${s.pathData.sizeBytes} bytes each, which ${optlen} is no multiple of`)
    // The path is the one that the address has: there is no other.
    cm.resolveRoute()
    return
  }
  if (level !== Option.idLevel) fail('ENOSYS', `${verb}: there is no level ${level}`)
  if (optname === Option.tos) cm.setOption('tos', number(1))
  else if (optname === Option.reuseAddr) cm.setOption('reuseAddr', number(4) !== 0)
  else if (optname === Option.afOnly) cm.setOption('afOnly', number(4) !== 0)
  else if (optname === Option.ackTimeout) cm.setOption('ackTimeout', number(1))
  else fail('ENOSYS', `${verb}: there is no option ${optname} of level ID`)
}
