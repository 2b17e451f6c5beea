/**
 * Constants and error numbers of sockets, those of this system, without the code that opens sockets: for modules that are loaded before
 * anything is sent over RDMA.
 */
import './runtime/system-errno.ts'

export * from './protocol/constants.ts'
export { Errno, errnoName } from './protocol/errno.ts'
