/**
 * Explanations of management datagrams without a response, or with one that reports an error: a sentence with the destination, and what can
 * be done.
 */
import { followRoute } from '../../management/index.ts'
import { madReceiver } from '../../verbs/provider/index.ts'
import { isMadResponse, isSubnClass, isVendorClass2, Mad, MadStatus, MgmtClass, u16 } from '../../wire/index.ts'
import type { UserMad } from './structs.ts'
import type { UmadPort } from './umad-port.ts'

export function whyUnanswered(
  port: UmadPort,
  header: UserMad,
  message: Uint8Array,
  name: string,
  route: string | undefined,
): string {
  const { timeoutMs, retries, lid, qpn } = header
  const times = retries === 0 ? '' : `, sent ${retries + 1} times`
  const to = route === undefined ? `LID ${lid} QP ${qpn}` : `route ${route}`
  return `umad_send: ${name} to ${to} had no response within ${timeoutMs} ms${times}: ${silenceCause(port, header, message)}`
}

function silenceCause({ fabric, context }: UmadPort, { lid }: UserMad, message: Uint8Array): string {
  if (fabric === null)
    return 'on Ethernet adapters have no management agents: a program at the other end has to serve this class'
  const { host, index } = context.device
  const mgmtClass = message[Mad.mgmtClass]!
  const isDirected = mgmtClass === MgmtClass.subnDirected
  const node = isDirected ? followRoute(fabric, index, 1, message.slice(), lid) : fabric.nodeOf(lid)
  if (node < 0 && isDirected)
    return 'nothing is at the end of that route: an adapter has one port, 1, and forwards nothing'
  if (node < 0) {
    const lids = [0, 1].map((one) => fabric.lidOf(one)).filter((one) => one !== 0)
    return `no adapter has that LID; there ${lids.length === 1 ? 'is' : 'are'} ${lids.join(' and ')}`
  }
  if (madReceiver(host, node, message, 0) >= 0) return 'the program that serves this class there has not responded'
  return `no program serves this class there${servers[mgmtClass] ?? ''}`
}

const manager = ': start opensm in this run or another one on the same adapters'
/** Programs in general use that would serve a class. */
const servers: Readonly<Record<number, string>> = {
  [MgmtClass.subnAdm]: manager,
  [MgmtClass.subnLid]: manager,
  [MgmtClass.subnDirected]: manager,
  50: ': start ibping -S',
  51: ': start ibsysstat -S',
}

/** Returns the status; on a directed route its upper bit is a direction. */
export function statusOf(message: Uint8Array): number {
  const status = u16(message, Mad.status)
  return isSubnClass(message[Mad.mgmtClass]!) ? status & 0x7fff : status
}

/** Explains a response with an error status; undefined for all other datagrams. */
export function whyRefused(name: string, lid: number, message: Uint8Array): string | undefined {
  const mgmtClass = message[Mad.mgmtClass]!
  const status = statusOf(message)
  if (status === 0 || !isMadResponse(message[Mad.method]!)) return undefined
  const from = lid === 0xffff ? 'the end of the route' : `LID ${lid}`
  return `${name} of ${from} says status 0x${status.toString(16)}: ${statusText(status, mgmtClass)}`
}

/** The common part is in the lower bits; what is above is the class's own. */
function statusText(status: number, mgmtClass: number): string {
  switch (status & 0x1f) {
    case MadStatus.busy:
      return 'busy, ask again'
    case MadStatus.badVersion:
      return 'it does not know this version of the class'
    case MadStatus.unsupportedMethod:
      return 'it does not have this method'
    case MadStatus.unsupportedAttribute:
      // An adapter returns this for requests of classes that no program serves.
      return isVendorClass2(mgmtClass)
        ? `no program serves this class there${servers[mgmtClass] ?? ''}`
        : 'it does not have this attribute, or not with this method'
    case MadStatus.invalidField:
      return 'a field of the attribute or its modifier is not valid'
    default:
      return 'an error of this class'
  }
}
