/**
 * Follows the packet of a directed route hop by hop (InfiniBand Architecture Specification, volume 1, 14.2.2). Nodes are numbers. An
 * adapter forwards no packets, so that a route has at most one hop here, as long as `Links` knows no switch.
 */
import { maxHops, permissiveLid, Smp, smpCodec } from '../wire/index.ts'

export interface Links {
  /** The node at the other end of a port's link, and by which of its ports a packet comes there; null if there is none. */
  peerOf(node: number, port: number): { node: number; port: number } | null
  /** The node that has a LID, −1 if none has. */
  nodeOf(lid: number): number
  /** True if a node forwards packets that are not for it. */
  forwards(node: number): boolean
}

/** A route that its sender cannot begin, for which the kernel fails the write. */
export const invalidRoute = -2

/**
 * The node that a request is for that leaves port `port` of `from`; −1 if it is lost on its way. Writes the return path into the packet.
 * `dlid` is where the part before the directed one leads, if there is one.
 */
export function followRoute(links: Links, from: number, port: number, mad: Uint8Array, dlid: number): number {
  const { direction, hopPointer, hopCount, drSlid, drDlid } = smpCodec.read(mad, 0)
  if (direction || hopPointer !== 0 || hopCount > maxHops) return invalidRoute
  if (hopCount > 0 && drSlid === permissiveLid && mad[Smp.initialPath + 1] !== port) return invalidRoute
  let node = from
  if (drSlid !== permissiveLid) node = dlid === permissiveLid ? from : links.nodeOf(dlid)
  for (let hop = 1; hop <= hopCount && node >= 0; hop++) {
    // The first hop leaves the sender, each further one the node that received the packet: that must be a node that forwards.
    if (node !== from && !links.forwards(node)) return -1
    const peer = links.peerOf(node, mad[Smp.initialPath + hop]!)
    if (peer === null) return -1
    // IBA C14-9: a node that forwards the packet writes the port by which it arrived into the return path.
    mad[Smp.returnPath + hop] = peer.port
    node = peer.node
  }
  if (drDlid === permissiveLid || node < 0) return node
  return node === from || links.forwards(node) ? links.nodeOf(drDlid) : -1
}
