/** `rpoll` and `rselect`: many sockets at once, in a thread that may block. */
import { nowNs, Polling, untilLook } from '../../memory/index.ts'
import { Errno, POLLERR, POLLHUP, POLLIN, POLLNVAL, POLLOUT, POLLPRI } from '../protocol/index.ts'
import type { RSocketLike } from './types.ts'

/** `struct pollfd`; `revents` is filled in. A null socket is ignored. */
export interface PollFd {
  fd: RSocketLike | null
  events: number
  revents: number
}

const polling = new Polling()
/** Longest sleep when sockets wait for several devices, or for connections. */
const mixedMs = 2
const sliceMs = untilLook(50)

/** Object that can block until something has happened to one of several sockets. */
interface Sleeper {
  sleep(ms: number): void
}

/** Part of a socket that waiting for several of them needs. */
export interface Pollable {
  /** Arms the object to sleep on for this socket and returns it; null if there is none. Poll once more afterwards. */
  prepareSleep(): Sleeper | null
}

function look(fds: readonly PollFd[]): number {
  let ready = 0
  for (const one of fds) {
    if (one.fd === null) {
      one.revents = 0
      continue
    }
    one.revents = one.fd.closed ? POLLNVAL : one.fd.poll(one.events)
    if (one.revents !== 0) ready++
  }
  return ready
}

/**
 * Waits until any of the requested events is true of one of the sockets, at most `timeoutMs` (−1: no limit; 0: polls once). Returns the
 * number of sockets with events, which are in their `revents`.
 */
export function rpoll(fds: PollFd[], timeoutMs = -1): number {
  const end = timeoutMs < 0 ? Number.POSITIVE_INFINITY : performance.now() + timeoutMs
  for (let now = nowNs(); ; now = nowNs()) {
    const ready = look(fds)
    if (ready > 0) polling.came(now)
    if (ready > 0 || timeoutMs === 0) return ready
    if (!polling.goesOn(now)) break
  }
  for (;;) {
    const sleepers = new Set<Sleeper>()
    for (const { fd } of fds) {
      const sleeper = fd === null ? null : (fd as RSocketLike & Partial<Pollable>).prepareSleep?.()
      if (sleeper) sleepers.add(sleeper)
    }
    const ready = look(fds)
    const left = end - performance.now()
    if (ready > 0 || left <= 0) return ready
    const [first] = sleepers
    const ms = Math.min(left, sleepers.size > 1 ? mixedMs : sliceMs)
    if (first !== undefined) first.sleep(ms)
    else Atomics.wait(nobody, 0, 0, ms)
  }
}

const nobody = new Int32Array(new SharedArrayBuffer(4))

/**
 * Polls sets of sockets as `select` does: sockets that are not ready are removed from the sets. Returns the number that remains in all of
 * them; `-EBADF` if one is closed.
 */
export function rselect(
  read: Set<RSocketLike> | null,
  write: Set<RSocketLike> | null,
  except: Set<RSocketLike> | null,
  timeoutMs = -1,
): number {
  const fds = new Map<RSocketLike, PollFd>()
  const ask = (set: Set<RSocketLike> | null, events: number): void => {
    for (const fd of set ?? []) {
      const one = fds.get(fd) ?? { fd, events: 0, revents: 0 }
      one.events |= events
      fds.set(fd, one)
    }
  }
  ask(read, POLLIN)
  ask(write, POLLOUT)
  ask(except, POLLPRI)
  const list = [...fds.values()]
  rpoll(list, timeoutMs)
  if (list.some(({ revents }) => (revents & POLLNVAL) !== 0)) return -Errno.EBADF
  let ready = 0
  const keep = (set: Set<RSocketLike> | null, events: number): void => {
    for (const fd of set ?? []) {
      if ((fds.get(fd)!.revents & events) !== 0) ready++
      else set!.delete(fd)
    }
  }
  keep(read, POLLIN | POLLHUP | POLLERR)
  keep(write, POLLOUT | POLLERR)
  keep(except, POLLPRI)
  return ready
}
