/**
 * Sockets and servers over RDMA, which cannot be sent to another process: they have no descriptor to send, and Node would
 * silently send nothing. So `send` throws, as it does for other objects that cannot be sent.
 */
import net from 'node:net'
import { isLive } from '../base/attachment.ts'
import { codedError } from '../base/errors.ts'
import { Listener } from '../base/listener.ts'
import type { NodeServer, NodeSocket } from './node-net.ts'
import { checkSent } from './sending.ts'

export function rejectSending(): void {
  checkSent((handle) => {
    if (isOverRdma(handle))
      throw codedError(
        'ERR_INVALID_HANDLE_TYPE',
        'This handle type cannot be sent: a connection or a server over RDMA belongs to its process',
        TypeError,
      )
  })
}

function isOverRdma(handle: unknown): boolean {
  if (handle instanceof net.Socket) return isLive(handle as unknown as NodeSocket)
  return handle instanceof net.Server && (handle as unknown as NodeServer)._handle instanceof Listener
}
