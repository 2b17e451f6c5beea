/** A file of umad with an observer: its agents, and the management datagrams that its program sends, receives, and has no response to. */
import { Mad, MgmtClass, madName, Smp, u16, u32 } from '../../wire/index.ts'
import { type DoorWatch, FileWatch, type MadRecord } from '../watch/index.ts'
import type { Registration } from './registration.ts'
import type { UserMad } from './structs.ts'
import type { UmadPort } from './umad-port.ts'
import { statusOf, whyRefused, whyUnanswered } from './why-failed.ts'

type MadFields = Pick<MadRecord, 'name' | 'mgmtClass' | 'method' | 'attributeId' | 'transactionId' | 'status'> &
  Pick<MadRecord, 'lid' | 'qpNum' | 'route' | 'length'>

export class UmadWatch extends FileWatch {
  readonly #port: UmadPort

  constructor(watch: DoorWatch, opener: number, port: UmadPort) {
    super(watch, opener)
    this.#port = port
  }

  registers({ qpn, mgmtClass, classVersion, oui, rmpp }: Registration): void {
    this.see('umad_register', () => ({
      ...{ qp: qpn, mgmt_class: hex(mgmtClass), class_version: classVersion, rmpp: Number(rmpp) },
      ...(oui === 0 ? {} : { oui: hex(oui) }),
    }))
  }

  sends({ id, timeoutMs, retries, ...to }: UserMad, message: Uint8Array): void {
    this.see(
      'umad_send',
      () => {
        const { name, lid, qpNum, route } = fieldsOf(to, message)
        return {
          agent: id,
          mad: name,
          lid,
          qp: qpNum,
          ...(route === undefined ? {} : { route }),
          timeout_ms: timeoutMs,
          retries,
        }
      },
      true,
    )
  }

  sent(header: UserMad, message: Uint8Array, pid: number): void {
    this.record({ type: 'mad', direction: 'sent', ...fieldsOf(header, message) }, pid)
  }

  received(header: Partial<UserMad>, message: Uint8Array, pid: number): void {
    const fields = fieldsOf(header, message)
    const reason = whyRefused(fields.name, fields.lid, message)
    this.record({ type: 'mad', direction: 'received', ...fields, ...(reason === undefined ? {} : { reason }) }, pid)
  }

  unanswered(header: UserMad, message: Uint8Array): void {
    const fields = fieldsOf(header, message)
    const reason = whyUnanswered(this.#port, header, message, fields.name, fields.route)
    this.record({ type: 'mad', direction: 'unanswered', ...fields, reason })
  }
}

function fieldsOf({ lid = 0, qpn = 0 }: Partial<UserMad>, message: Uint8Array): MadFields {
  const [mgmtClass, method] = [message[Mad.mgmtClass]!, message[Mad.method]!]
  const attributeId = u16(message, Mad.attributeId)
  const route = routeOf(message)
  return {
    ...{ name: madName(mgmtClass, method, attributeId), mgmtClass, method, attributeId },
    transactionId: hex((BigInt(u32(message, Mad.transactionId)) << 32n) | BigInt(u32(message, Mad.transactionId + 4))),
    status: statusOf(message),
    ...{ lid, qpNum: qpn, length: message.length },
    ...(route === undefined ? {} : { route }),
  }
}

/** Formats a route as infiniband-diags does: 0 for this port, then the ports by which it goes on. */
function routeOf(message: Uint8Array): string | undefined {
  if (message[Mad.mgmtClass] !== MgmtClass.subnDirected || message.length < Mad.totalLength) return undefined
  const hops = Math.min(message[Smp.hopCount]!, Smp.pathLength - 1)
  return [0, ...message.subarray(Smp.initialPath + 1, Smp.initialPath + 1 + hops)].join(',')
}

const hex = (value: number | bigint): string => `0x${value.toString(16)}`
