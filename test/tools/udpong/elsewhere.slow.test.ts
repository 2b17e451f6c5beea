/** udpong between two processes, on the other kinds of device, and with the other ways to wait. */
import { describe } from 'vitest'
import { canShare } from '../../cli/ends.ts'
import { places } from '../cm-kit/ends.ts'
import { overKernel, twoProcesses } from './two-processes.ts'

describe.each(places.slice(1))('two processes on $name', twoProcesses)

describe.skipIf(!canShare)('UDP of the kernel', () => {
  overKernel(['-T', 'a'])
  overKernel(['-T', 'b'])
})
