/** The multicast groups of a UD id. The GID of a group is its IP address, like that of a host. */
import { multicastQpn, type QpType, type QueuePair, VerbsError } from '../../verbs/index.ts'
import { formatIp, gidOfIp, sameBytes } from '../../wire/index.ts'
import { isMulticast } from './address.ts'
import { errno, udpQkey } from './constants.ts'
import { RdmaCmError } from './errors.ts'
import type { CmEventParam } from './event.ts'

interface Member {
  address: Uint8Array
  qp: QueuePair | undefined
}

export interface Joined {
  param: Partial<CmEventParam>
  /** A negative errno if the device fails. */
  failure?: number
}

export class Groups {
  readonly #members: Member[] = []

  /** Attaches the queue pair, if the id has one, and returns the parameters for sending to the group. */
  join(address: Uint8Array, qp: QueuePair | undefined, sgidIndex: number, trafficClass: number): Joined {
    if (!isMulticast(address))
      throw new RdmaCmError(
        'EINVAL',
        'joinMulticast',
        `${formatIp(address)} is no multicast address: 224.0.0.0 to 239.255.255.255, or ff00::/8`,
      )
    if (this.#find(address) >= 0)
      throw new RdmaCmError('EINVAL', 'joinMulticast', `this id is in the group ${formatIp(address)} already`)
    const dgid = gidOfIp(address)
    try {
      ;(qp as QueuePair<typeof QpType.UD> | undefined)?.attachMcast(dgid, 0, sgidIndex)
    } catch (error) {
      if (!(error instanceof VerbsError)) throw error
      return { param: {}, failure: -errno.EINVAL }
    }
    this.#members.push({ address, qp })
    const ahAttr = { dlid: 0xc000, portNum: 1, grh: { dgid, sgidIndex, hopLimit: 64, trafficClass } }
    return { param: { qpNum: multicastQpn, qkey: udpQkey, ahAttr } }
  }

  leave(address: Uint8Array): void {
    const at = this.#find(address)
    if (at < 0) throw new RdmaCmError('EINVAL', 'leaveMulticast', `this id is not in the group ${formatIp(address)}`)
    this.#detach(this.#members.splice(at, 1)[0]!)
  }

  leaveAll(): void {
    for (const member of this.#members.splice(0)) this.#detach(member)
  }

  #detach({ address, qp }: Member): void {
    if (qp !== undefined && !qp.closed) (qp as QueuePair<typeof QpType.UD>).detachMcast(gidOfIp(address))
  }

  #find(address: Uint8Array): number {
    return this.#members.findIndex((member) => sameBytes(member.address, address))
  }
}
