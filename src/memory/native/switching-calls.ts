/**
 * For tests: observes each system call after which the kernel may run another thread in place of this one, because it sends data or wakes a
 * thread. The observer is in memory/held.ts. Without it no function is wrapped.
 */

/** The file that gets them; empty if nothing looks. */
export const heldCallsFile: string = process.env.VERBENA_HELD_CALLS ?? ''

const FUTEX_WAKE = 1

const switching = ['write', 'send', 'sendto', 'sendmsg', 'sendmmsg'] as const

interface Callable {
  (...parameters: (number | bigint | string)[]): number
  async(...parameters: unknown[]): void
}

type Calls = Readonly<Record<(typeof switching)[number] | 'syscall', Callable>> & { readonly futexNumber: number }

/** The same functions, of which those that may switch threads call `look` first. */
export function withLooks<T extends Calls>(libc: T, look: (call: string) => void): T {
  const looked = (real: Callable, before: (...parameters: Parameters<Callable>) => void): Callable =>
    Object.assign(
      (...parameters: Parameters<Callable>): number => {
        before(...parameters)
        return real(...parameters)
      },
      { async: real.async },
    )
  const all = Object.fromEntries(switching.map((call) => [call, looked(libc[call], () => look(call))]))
  const syscall = looked(libc.syscall, (number, _word, operation) => {
    if (number === libc.futexNumber && operation === FUTEX_WAKE) look('futex')
  })
  return { ...libc, ...all, syscall }
}
