/**
 * Sockets and servers that a program sends to another process. One over RDMA has no descriptor to send, and Node would
 * silently send nothing; so `send` throws, as it does for other objects that cannot be sent.
 */
import { ChildProcess } from 'node:child_process'
import net from 'node:net'
import { isLive } from '../base/attachment.ts'
import { codedError } from '../base/errors.ts'
import { Listener } from '../base/listener.ts'
import type { NodeServer, NodeSocket } from './node-net.ts'

type Send = (...args: unknown[]) => unknown
interface Sender {
  send?: Send | undefined
}

export function patchSending(): void {
  guard(process as Sender)
  const methods = ChildProcess.prototype as unknown as Record<'spawn', Send>
  const { spawn } = methods
  methods.spawn = function (this: Sender, ...args) {
    const result = spawn.apply(this, args)
    guard(this)
    return result
  }
}

/** A process at the other end of a channel; without a channel there is no `send`. */
function guard(sender: Sender): void {
  const { send } = sender
  if (send === undefined) return
  sender.send = function (this: unknown, ...args) {
    if (isOverRdma(args[1]))
      throw codedError(
        'ERR_INVALID_HANDLE_TYPE',
        'This handle type cannot be sent: a connection or a server over RDMA belongs to its process',
        TypeError,
      )
    return send.apply(this, args)
  }
}

function isOverRdma(handle: unknown): boolean {
  if (handle instanceof net.Socket) return isLive(handle as unknown as NodeSocket)
  return handle instanceof net.Server && (handle as unknown as NodeServer)._handle instanceof Listener
}
