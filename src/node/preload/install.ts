/** Replaces Node's methods with the preload's. Once in a thread; it cannot be undone. */
import { gateWorkers } from '../../memory/index.ts'
import { Connector } from './connect.ts'
import { patchServers } from './listen.ts'
import { enableLog } from './log.ts'
import { checkInternals, type Method, type NodeSocket, socketMethods } from './node-net.ts'
import { patchSending } from './sending.ts'
import type { Settings } from './settings.ts'
import { patchSockets } from './sockets.ts'

let installed = false

/** Throws where this version of Node lacks what is needed. */
export function install(settings: Settings): void {
  if (installed) return
  const missing = checkInternals()
  if (missing.length > 0)
    throw new Error(
      `verbena/preload does not know Node.js ${process.version}: it lacks ${missing.join(', ')}. Use verbena/net instead`,
    )
  installed = true
  enableLog(settings.log)
  // They load all of this.
  gateWorkers()
  patchSockets()
  patchServers(settings)
  const connector = new Connector(settings, socketMethods.connect!)
  socketMethods.connect = function (this: NodeSocket, ...args: unknown[]): NodeSocket {
    return connector.connect(this, args)
  } as Method
  patchSending()
}
