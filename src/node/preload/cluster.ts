/**
 * Servers in the workers of Node's `cluster`. Over TCP the primary has their port: it accepts their connections and hands
 * them out, or gives each worker the socket that listens. Over RDMA each worker has a listener of its own; those of one
 * cluster share the port (SO_REUSEPORT), and the device gives each request to one of them.
 *
 *                  TCP                                        RDMA
 *     primary      chooses the port, listens                  nothing
 *     worker       is handed connections, or the socket       listens on that port, with the number of the cluster
 */
import cluster from 'node:cluster'
import { createHash } from 'node:crypto'
import { threadStartTime } from '../../memory/index.ts'
import type { NodeServer } from './node-net.ts'

/** Number shared by all servers with the option `reusePort`, which Node.js has from 22.12 on. */
const numberOfAnybody = 1
const reusePortFlag = 2

/**
 * Returns the number of a cluster, made from the identity of the primary, which all workers of the cluster have as parent, and no other
 * process has. At least 2.
 */
function numberOfCluster(): number {
  const { ppid } = process
  const hash = createHash('sha256')
    .update(`${ppid} ${threadStartTime(ppid, ppid)}`)
    .digest()
  return (hash.readUInt32LE() >>> 1) | 2
}

let ownNumber = 0

/** True if the server is about to share a port with other workers: then Node has requested a handle from the primary. */
export function hasHandleOfPrimary(server: NodeServer): boolean {
  return cluster.isWorker && server._handle !== null
}

/** Returns the number with which the server shares its port; 0 if it does not share it. */
export function sharesPortAs(server: NodeServer, flags: number): number {
  if (hasHandleOfPrimary(server)) {
    // The primary lives: it has just given the handle.
    if (ownNumber === 0) ownNumber = numberOfCluster()
    return ownNumber
  }
  return (flags & reusePortFlag) !== 0 ? numberOfAnybody : 0
}

/**
 * True for the server with which the primary of a cluster accepts connections for its workers: they go to it by their handles, and its
 * own listener is an assertion that none arrives here.
 */
export function handsOut(server: NodeServer): boolean {
  if (!cluster.isPrimary) return false
  const [listener, another] = server.listeners('connection')
  // Not the program's listener, but one of Node's own, which throws an error that only Node's own code has.
  return another === undefined && listener?.name === 'fail' && String(listener).includes('ERR_INTERNAL_ASSERTION')
}
