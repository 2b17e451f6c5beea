/** Failures of commands: errnos by name, each with the sentence that `--explain` shows. */
import { errnos } from '../../memory/index.ts'
import { VerbsError } from '../../verbs/index.ts'
import { Errno } from '../door.ts'
import { isAnswered } from '../errnos.ts'

export { type ErrnoName, fail } from '../errnos.ts'

/** Converts an error of a verb of this process, or of the system, to the errno of `verb` in the program. */
export function asErrno(error: unknown, verb: string): Errno {
  if (error instanceof Errno) return error
  const { code, message } = error as Error & { code?: string }
  if (error instanceof VerbsError) {
    return new Errno(numberOf(error.code), `${verb}: ${inWordsOfC(message.slice(error.verb.length + 2))}`)
  }
  // An error of the system: memory or descriptors may be exhausted.
  if (typeof code === 'string') return new Errno(numberOf(code), `${verb}: ${message}`)
  throw error
}

/** Attributes whose names in libibverbs do not follow the rule. */
const otherNames: Readonly<Record<string, string>> = { port: 'port_num', alt_port: 'alt_port_num' }

/** Returns the message of a verb of this library with the names that the program's author knows: `rnrRetry` is `rnr_retry`. */
function inWordsOfC(said: string): string {
  const [text = ''] = / \([A-Z]+\)$/.test(said) ? [said.slice(0, said.lastIndexOf(' ('))] : [said]
  const named = text
    .replace(/\b[a-z]+(?:[A-Z][a-z]+)+\b/g, (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
    .replace(/^(altA|a)h\b/, (name) => (name === 'ah' ? 'ah_attr' : 'alt_ah_attr'))
    .replace(/\bclose\b/g, 'destroy')
  const [, name = '', from, to, value] = /^(\S+) must be an integer from (\S+) to (\S+), not (.*)$/.exec(named) ?? []
  if (value === undefined) return named
  return `${otherNames[name] ?? name} is ${value}; ${from === to ? `only ${from} is` : `${from} to ${to} are`} allowed`
}

function numberOf(code: string): number {
  // What no kernel answers here: shared memory of the adapter has run out, or another thread does not give a lock back.
  if (code === 'ENOSPC' || code === 'ENFILE') return errnos.ENOMEM
  return isAnswered(code) ? errnos[code] : errnos.EIO
}
