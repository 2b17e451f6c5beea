/**
 * The constants of sockets and their error numbers, those of this system, without what opens sockets: for code that is loaded before
 * anything is to go over RDMA.
 */
import './runtime/system-errno.ts'

export * from './protocol/constants.ts'
export { Errno, errnoName } from './protocol/errno.ts'
