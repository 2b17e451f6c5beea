/** Connections: the InfiniBand communication manager and, on it, the RDMA CM. docs/cm.md shows how it works. */
export * from './ib/index.ts'
