/**
 * Handles that a program sends to another process. Channels are watched from the start, since a process may be started before the first
 * socket is over RDMA.
 */
import { ChildProcess } from 'node:child_process'

type Send = (...args: unknown[]) => unknown
interface Sender {
  send?: Send | undefined
}

let check: (handle: unknown) => void = () => {}

/** Sets the function that is called with each handle before it is sent; it may throw. */
export function checkSent(its: (handle: unknown) => void): void {
  check = its
}

export function watchSending(): void {
  watch(process as Sender)
  const methods = ChildProcess.prototype as unknown as Record<'spawn', Send>
  const { spawn } = methods
  methods.spawn = function (this: Sender, ...args) {
    const result = spawn.apply(this, args)
    watch(this)
    return result
  }
}

/** Watches the process at the other end of a channel; without a channel there is no `send`. */
function watch(sender: Sender): void {
  const { send } = sender
  if (send === undefined) return
  sender.send = function (this: unknown, ...args) {
    check(args[1])
    return send.apply(this, args)
  }
}
