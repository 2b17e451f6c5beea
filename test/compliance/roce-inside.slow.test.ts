/** Both ends on one adapter, whose packets stay in memory. */
import { openDevice } from '../../src/index.ts'
import { loopbackDevice } from '../loopback.ts'
import { roceRig } from './roce-rig.ts'
import { verbsCompliance } from './suite.ts'

const name = loopbackDevice(3)

verbsCompliance('roce, inside', {
  ...roceRig,
  names: [name, name],
  open: () => openDevice(name),
  skip: {
    ...roceRig.skip,
    '127 what is nobody’s goes to the first agent; without any it is dropped and counted':
      'both ends have the same agents',
  },
})
