/** Failures of commands: errors of the RDMA CM here, as errnos. */
import { constants } from 'node:os'
import { CmError, RdmaCmError } from '../../cm/index.ts'
import { errnos } from '../../memory/index.ts'
import { VerbsError } from '../../verbs/index.ts'
import { Errno } from '../door.ts'

/** Converts an error of a command; `verb` is the function that the program called. */
export function asErrno(error: unknown, verb: string): unknown {
  if (error instanceof Errno) return error
  if (error instanceof RdmaCmError) return new Errno(numberOf(error.code), `${verb}: ${said(error.message)}`)
  if (error instanceof CmError)
    return new Errno(error.code === 'ERR_CM_FULL' ? errnos.ENOMEM : errnos.EINVAL, `${verb}: ${said(error.message)}`)
  // An error of the adapter, whose segment may have no more room.
  if (error instanceof VerbsError)
    return new Errno(error.code === 'ENOSPC' ? errnos.ENOMEM : numberOf(error.code), `${verb}: ${said(error.message)}`)
  return error
}

const numberOf = (code: string): number => (constants.errno as Readonly<Record<string, number>>)[code] ?? errnos.EIO

/** Returns a message without the name of the call here, and without the code. */
const said = (message: string): string => message.replace(/^\w+: /, '').replace(/ \(\w+\)$/, '')
