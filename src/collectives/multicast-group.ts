/** Multicast groups of a communicator, and the check that a device supports multicast. */
import { randomBytes } from 'node:crypto'
import { type Context, connectQp, endpointOf, QpType, type QueuePair, VerbsError } from '../index.ts'

/** Returns a random group that no other communicator uses, of the same kind as this port's address: ::ffff:239.x.y.z if that maps IPv4. */
export function multicastGroup(gid: Uint8Array): Uint8Array {
  const random = randomBytes(16)
  const mapsIpv4 = gid.subarray(0, 10).every((byte) => byte === 0) && gid[10] === 0xff && gid[11] === 0xff
  if (!mapsIpv4) return Uint8Array.of(0xff, 0x12, ...random.subarray(2))
  return Uint8Array.of(...new Uint8Array(10), 0xff, 0xff, 239, 255, random[0]!, random[1]! || 1)
}

/** MLID of Viertel (2006); it has no meaning on Ethernet. */
export const multicastLid = 0xc000

/** Returns the reason for which a device has no multicast; empty if it has. */
export function whyNoMulticast(context: Context, gidIndex: number): string {
  if (context.queryDevice().maxMcastGrp === 0) return 'it has no multicast groups'
  const pd = context.allocPd()
  const cq = context.createCq(1)
  const qp: QueuePair<typeof QpType.UD> = pd.createQp({ type: QpType.UD, sendCq: cq, recvCq: cq })
  try {
    const local = endpointOf(qp, { gidIndex })
    connectQp(qp, local, null)
    const gid = multicastGroup(local.gid)
    qp.attachMcast(gid)
    qp.detachMcast(gid)
    return ''
  } catch (error) {
    if (!(error instanceof VerbsError)) throw error
    return error.message
  } finally {
    qp.close()
    cq.close()
    pd.close()
  }
}
