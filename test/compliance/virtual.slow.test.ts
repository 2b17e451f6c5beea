/** The transport passes the compliance suite on a link in memory, without faults. */
import { openDevice } from '../../src/index.ts'
import { link, registerVirtual } from '../transport/virtual.ts'
import { sameTables } from './shm-rig.ts'
import { verbsCompliance } from './suite.ts'

registerVirtual()

const threads = 'the link is in the memory of one thread'

verbsCompliance('the transport on a virtual link', {
  names: ['virtual0', 'virtual1'],
  open: (side) => openDevice(`virtual${side}`),
  patienceMs: 5_000,
  quietMs: 2,
  settle() {
    link.step()
  },
  skip: { ...sameTables, 10: threads, 56: threads, 126: threads },
})
