/** Registrations of agents, by either request, and the rules that programs must keep: those of ib_register_mad_agent of Linux. */
import { hasRmpp, isSubnClass, isVendorClass2, MgmtClass, rmppVersion } from '../../wire/index.ts'
import type { ProgramProcess } from '../door.ts'
import { fail } from '../errnos.ts'
import { decode } from '../struct.ts'
import { flagsAt, registerAgent, registerAgent2, userRmppFlag } from './structs.ts'

export interface Registration {
  /** 0 for subnet management, else 1. */
  readonly qpn: number
  /** Management class; 0: it only gets responses. */
  readonly mgmtClass: number
  readonly classVersion: number
  readonly oui: number
  /** Methods of requests that it receives: four words, a bit for each method. */
  readonly methods: Int32Array
  /** Flag: messages of several packets are segmented and reassembled here. */
  readonly rmpp: boolean
}

/** Versions and classes below these have tables in the kernel. */
const classVersions = 8
const classes = 80

/** IB_USER_MAD_REGISTER_AGENT. */
export function readRegistration(process: ProgramProcess, address: number): Registration {
  const bytes = new Uint8Array(registerAgent.sizeBytes)
  process.read(address, bytes)
  const { qpn, mgmtClass, classVersion, oui0, oui1, oui2, rmppVersion: rmpp, methods } = decode(registerAgent, bytes)
  return checked(qpn, mgmtClass, classVersion, (oui0 << 16) | (oui1 << 8) | oui2, methods, rmpp, false)
}

/** IB_USER_MAD_REGISTER_AGENT2. */
export function readRegistration2(process: ProgramProcess, address: number): Registration {
  const bytes = new Uint8Array(registerAgent2.sizeBytes)
  process.read(address, bytes)
  const { qpn, mgmtClass, classVersion, flags, oui, methods, rmppVersion: rmpp } = decode(registerAgent2, bytes)
  if ((flags & ~userRmppFlag) !== 0) {
    process.write(address + flagsAt, Uint8Array.of(userRmppFlag, 0, 0, 0))
    fail('EINVAL', `umad_register: of flags 0x${flags.toString(16)} only ${userRmppFlag} (user RMPP) is known`)
  }
  return checked(qpn, mgmtClass, classVersion, oui, methods, rmpp, (flags & userRmppFlag) !== 0)
}

function checked(
  qpn: number,
  mgmtClass: number,
  classVersion: number,
  oui: number,
  methods: Uint8Array,
  rmpp: number,
  userRmpp: boolean,
): Registration {
  const wrong = fault(qpn, mgmtClass, classVersion, oui, rmpp, userRmpp)
  if (wrong !== null) fail('EINVAL', `umad_register: ${wrong}`)
  const words = new Int32Array(4)
  const view = new DataView(methods.buffer, methods.byteOffset, methods.byteLength)
  for (let i = 0; i < words.length; i++) words[i] = view.getInt32(4 * i, true)
  return {
    qpn,
    mgmtClass,
    classVersion,
    oui: isVendorClass2(mgmtClass) ? oui : 0,
    methods: words,
    rmpp: rmpp !== 0 && !userRmpp,
  }
}

/** Returns what is wrong with a registration; null if it is valid. */
function fault(
  qpn: number,
  mgmtClass: number,
  classVersion: number,
  oui: number,
  rmpp: number,
  userRmpp: boolean,
): string | null {
  const named = `class 0x${mgmtClass.toString(16)}`
  if (qpn !== 0 && qpn !== 1) return `QP ${qpn} has no management datagrams, only 0 and 1 have`
  if (rmpp !== 0 && rmpp !== rmppVersion) return `RMPP has version ${rmppVersion}, not ${rmpp}`
  if (mgmtClass === 0) return userRmpp ? 'user RMPP is of a class, and none is given' : null
  if (classVersion >= classVersions) return `class versions are below ${classVersions}, not ${classVersion}`
  if (mgmtClass >= classes && mgmtClass !== MgmtClass.subnDirected)
    return `${named} is not known: they end at 0x4f, but for 0x81`
  if (oui > 0xffffff) return `an OUI has 24 bits, 0x${oui.toString(16)} has more`
  if (isVendorClass2(mgmtClass) && oui === 0) return `${named} is of vendors, and has an OUI other than 0`
  if (rmpp !== 0 && !hasRmpp(mgmtClass)) return `${named} has no RMPP`
  if (isSubnClass(mgmtClass) !== (qpn === 0)) return `${named} is not of QP ${qpn}`
  return null
}

/** Adapters on Ethernet have no QP 0. */
export function checkQp({ qpn }: Registration, hasQp0: boolean): void {
  if (qpn === 0 && !hasQp0)
    fail('EPROTONOSUPPORT', 'umad_register: an adapter on Ethernet has no subnet management (QP 0)')
}
