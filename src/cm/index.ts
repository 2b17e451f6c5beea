/** Connections: the InfiniBand communication manager (`ib`) and, on it, the RDMA CM. */
export * as ib from './ib/index.ts'
export * from './rdma/index.ts'
