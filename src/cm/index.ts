/** Connections: the InfiniBand communication manager and, on it, the RDMA CM. */

export type { CmEvent as IbCmEvent, CmEventType as IbCmEventType } from './ib/index.ts'
export * from './ib/index.ts'
export * from './rdma/index.ts'
// Of the names that both have, these are librdmacm's.
export { CmEvent, CmEventType } from './rdma/index.ts'
