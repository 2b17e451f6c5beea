/** Protection domains, memory regions and windows, and address handles of programs. */
import { Access, type AhAttr, ReregFlag } from '../../verbs/index.ts'
import { decode, encode, type ValuesOf } from '../struct.ts'
import type { Answer, Command } from './command.ts'
import { bytesOf } from './device-verbs.ts'
import { fail } from './errors.ts'
import type { MethodCall } from './method-call.ts'
import type { ProgramAh, ProgramMr, ProgramMw, ProgramPd } from './plain-objects.ts'
import { closeObject, type ProgramContext } from './program-context.ts'
import {
  ahDriverAnswer,
  allocMwAnswer,
  allocMwRequest,
  createAhAnswer,
  createAhRequest,
  handleOnly,
  pdAnswer,
  type qpDest,
  regMrAnswer,
  regMrRequest,
  reregMrAnswer,
  reregMrRequest,
} from './structs.ts'
import { accessNames } from './value-names.ts'

/** IB_ACCESS_OPTIONAL: bits that an adapter may leave out. */
const optionalAccess = 0x3ff00000
const supportedAccess =
  Access.LocalWrite |
  Access.RemoteWrite |
  Access.RemoteRead |
  Access.RemoteAtomic |
  Access.MwBind |
  Access.ZeroBased |
  Access.HugeTlb |
  Access.FlushGlobal
/** Rights with which the kernel pins pages for writing. */
const writing = Access.LocalWrite | Access.RemoteWrite | Access.RemoteAtomic | Access.MwBind

/** Closes an object; EBUSY while it is in use. */
function destroy(context: ProgramContext, object: ProgramPd | ProgramMr | ProgramMw | ProgramAh): void {
  closeObject(object)
  if (object.kind === 'ah') context.ahs[object.number] = undefined
  context.remove(object)
}

type Plain = 'pd' | 'mr' | 'mw' | 'ah'

/** Returns the handler of a command that destroys an object and has no answer. */
export function destroyCommand(kind: Plain): (context: ProgramContext, command: Command) => Answer {
  return (context, { core, verb }) => {
    destroy(context, context.find(kind, decode(handleOnly, core).handle, verb, 'ENOENT'))
    return {}
  }
}

export function destroyMethod(kind: Plain): (context: ProgramContext, method: MethodCall) => void {
  return (context, method) => {
    destroy(context, method.object(context, 'handle', kind))
  }
}

/** Returns a function that destroys a new object. */
function undoing(context: ProgramContext, object: ProgramPd | ProgramMr | ProgramMw | ProgramAh): () => void {
  return () => destroy(context, object)
}

// --- protection domains ----------------------------------------------------------------------------------------------

export function allocPd(context: ProgramContext): Answer {
  const pd: ProgramPd = { kind: 'pd', pd: context.station.waist.context.allocPd() }
  return { core: encode(pdAnswer, { pd_handle: context.add(pd) }), undo: undoing(context, pd) }
}

// --- memory regions --------------------------------------------------------------------------------------------------

/** Returns the requested rights, without optional ones. */
function checkAccess(verb: string, flags: number): number {
  const access = flags & ~optionalAccess
  if ((access & (Access.RemoteWrite | Access.RemoteAtomic)) !== 0 && (access & Access.LocalWrite) === 0)
    fail(
      'EINVAL',
      `${verb}: access is ${accessNames(flags)}; remote write and atomic rights need IBV_ACCESS_LOCAL_WRITE`,
    )
  const unsupported = access & ~supportedAccess
  if (unsupported !== 0)
    fail(
      'EOPNOTSUPP',
      `${verb}: access has ${accessNames(unsupported)}, which this adapter does not support; it supports ${accessNames(supportedAccess)}`,
    )
  return access & ~Access.HugeTlb
}

export function regMr(context: ProgramContext, { core, call, verb }: Command): Answer {
  const { start, length, hca_va, pd_handle, access_flags } = decode(regMrRequest, core)
  const { waist } = context.station
  // As a number of two words it is compared below with what is exact: any process's address is.
  if (start % 4096 !== hca_va % 4096)
    fail(
      'EINVAL',
      `${verb}: addr 0x${start.toString(16)} and iova 0x${hca_va.toString(16)} have to have the same offset in a page of 4096 bytes, and have ${start % 4096} and ${hca_va % 4096}`,
    )
  const access = checkAccess(verb, access_flags)
  const { pd } = context.find('pd', pd_handle, verb)
  if (!(length > 0 && length <= waist.maxMrBytes))
    fail('EINVAL', `${verb}: length is ${length}; max_mr_size is ${waist.maxMrBytes}`)
  if (!call.process.covers(start, length, (access & writing) !== 0))
    fail(
      'EFAULT',
      `${verb}: not all of ${length} bytes from 0x${start.toString(16)} on are mapped${(access & writing) !== 0 ? ' and writable' : ''} in the program`,
    )
  const mr: ProgramMr = {
    kind: 'mr',
    mr: waist.regMr(pd, call.process, { address: start, length, access, iova: hca_va }),
  }
  const { lkey, rkey } = mr.mr
  return { core: encode(regMrAnswer, { mr_handle: context.add(mr), lkey, rkey }), undo: undoing(context, mr) }
}

/** As the kernel's rxe: rights and protection domain change, addresses do not. */
export function reregMr(context: ProgramContext, { core, verb }: Command): Answer {
  const { mr_handle, flags, pd_handle, access_flags } = decode(reregMrRequest, core)
  const all = ReregFlag.ChangeTranslation | ReregFlag.ChangePd | ReregFlag.ChangeAccess
  if (flags === 0 || (flags & ~all) !== 0)
    fail(
      'EINVAL',
      `${verb}: flags is 0x${flags.toString(16)}; it has one or more of IBV_REREG_MR_CHANGE_TRANSLATION (1), _PD (2), _ACCESS (4), and no others`,
    )
  const { mr } = context.find('mr', mr_handle, verb)
  if ((flags & ReregFlag.ChangeTranslation) !== 0)
    fail('EOPNOTSUPP', `${verb}: this adapter does not move regions (IBV_REREG_MR_CHANGE_TRANSLATION)`)
  mr.rereg(flags, {
    ...((flags & ReregFlag.ChangePd) !== 0 ? { pd: context.find('pd', pd_handle, verb).pd } : {}),
    ...((flags & ReregFlag.ChangeAccess) !== 0 ? { access: checkAccess(verb, access_flags) } : {}),
  })
  return { core: encode(reregMrAnswer, { lkey: mr.lkey, rkey: mr.rkey }) }
}

export function queryMr(context: ProgramContext, method: MethodCall): void {
  const { mr } = method.object(context, 'handle', 'mr')
  method.answer('lkey', bytesOf(mr.lkey, 4))
  method.answer('rkey', bytesOf(mr.rkey, 4))
  method.answer('length', bytesOf(mr.length, 8))
  method.answer('iova', bytesOf(mr.addr, 8))
}

// --- memory windows --------------------------------------------------------------------------------------------------

export function allocMw(context: ProgramContext, { core, verb }: Command): Answer {
  const { pd_handle, mw_type } = decode(allocMwRequest, core)
  const { pd } = context.find('pd', pd_handle, verb)
  if (mw_type !== 1 && mw_type !== 2) fail('EINVAL', `${verb}: type is ${mw_type}; there are windows of type 1 and 2`)
  const mw: ProgramMw = { kind: 'mw', mw: pd.allocMw(mw_type) }
  return { core: encode(allocMwAnswer, { mw_handle: context.add(mw), rkey: mw.mw.rkey }), undo: undoing(context, mw) }
}

// --- address handles -------------------------------------------------------------------------------------------------

/** `ib_uverbs_ah_attr` and `ib_uverbs_qp_dest` alike. */
export function ahAttr(values: ValuesOf<typeof qpDest>): AhAttr {
  const { dlid, sl, src_path_bits, static_rate, port_num, is_global } = values
  return {
    dlid,
    sl,
    srcPathBits: src_path_bits,
    staticRate: static_rate,
    portNum: port_num,
    ...(is_global !== 0
      ? {
          grh: {
            dgid: values.dgid,
            sgidIndex: values.sgid_index,
            flowLabel: values.flow_label & 0xfffff,
            hopLimit: values.hop_limit,
            trafficClass: values.traffic_class,
          },
        }
      : {}),
  }
}

export function createAh(context: ProgramContext, { core, verb, driverRoom }: Command): Answer {
  const values = decode(createAhRequest, core)
  const { pd } = context.find('pd', values.pd_handle, verb)
  const { physPortCnt } = context.station.waist.context.device.attr
  if (values.port_num < 1 || values.port_num > physPortCnt)
    fail('EINVAL', `${verb}: port_num is ${values.port_num}; the device has ports 1 to ${physPortCnt}`)
  const ah = context.addAh((number) => ({ kind: 'ah', ah: pd.createAh(ahAttr(values)), number }))
  return {
    core: encode(createAhAnswer, { ah_handle: context.add(ah) }),
    ...(driverRoom >= ahDriverAnswer.sizeBytes ? { driver: encode(ahDriverAnswer, { ah_num: ah.number }) } : {}),
    undo: undoing(context, ah),
  }
}
