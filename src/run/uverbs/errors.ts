/** How commands fail: errnos by name, each with the sentence that `--explain` shows. */
import { VerbsError } from '../../verbs/index.ts'
import { Errno } from '../door.ts'
import { type ErrnoName, errnos } from '../errnos.ts'

export { type ErrnoName, errnos, fail } from '../errnos.ts'

/** What a verb of this process, or the system, said, as the errno of `verb` in the program. */
export function asErrno(error: unknown, verb: string): Errno {
  if (error instanceof Errno) return error
  const { code, message } = error as Error & { code?: string }
  if (error instanceof VerbsError) {
    const said = message.slice(error.verb.length + 2)
    return new Errno(numberOf(error.code), `${verb}: ${said}`)
  }
  // Of the system: of memory and of descriptors there may be no more.
  if (typeof code === 'string') return new Errno(numberOf(code), `${verb}: ${message}`)
  throw error
}

function numberOf(code: string): number {
  // What no kernel answers here: shared memory of the adapter has run out, or another thread does not give a lock back.
  if (code === 'ENOSPC' || code === 'ENFILE') return errnos.ENOMEM
  return Object.hasOwn(errnos, code) ? errnos[code as ErrnoName] : errnos.EIO
}
