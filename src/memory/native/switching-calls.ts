/**
 * For tests: a look at each system call after which the kernel may run another thread in this one's place, because it sends
 * something or wakes somebody. What looks is in memory/held.ts. Without it no function is wrapped.
 */
import type { Libc, NativeFunction } from './libc.ts'

const FUTEX_WAKE = 1

const switching = ['write', 'send', 'sendto', 'sendmsg', 'sendmmsg'] as const

/** The same functions, of which those that may switch threads call `look` first. */
export function withLooks(libc: Libc, look: (call: string) => void): Libc {
  const before =
    (call: string, real: NativeFunction): NativeFunction['async'] & ((...parameters: never[]) => number) =>
    (...parameters) => {
      look(call)
      return (real as (...all: unknown[]) => number)(...parameters)
    }
  const looked = Object.fromEntries(switching.map((call) => [call, before(call, libc[call])]))
  const { syscall, futexNumber } = libc
  const withFutex = (...parameters: Parameters<NativeFunction>): number => {
    if (parameters[0] === futexNumber && parameters[2] === FUTEX_WAKE) look('futex')
    return syscall(...parameters)
  }
  withFutex.async = syscall.async
  return { ...libc, ...looked, syscall: withFutex }
}
