/** The workers of a cluster share a port. With TCP beside it, and on other devices, in cluster.slow.test.ts. */
import { overDevice } from '../children.ts'
import { sharesItsPort } from './clusters.ts'

sharesItsPort('over shm alone', overDevice(`shm:cluster${process.pid}`, 'local rdma-only'), { alone: true })
