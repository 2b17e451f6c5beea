/** Sets the error numbers to those of this system. */
import { constants } from 'node:os'
import { useErrno } from '../protocol/index.ts'

useErrno(constants.errno)
