/** rstream, riostream and rcopy between two processes, on all kinds of device, and with the other ways to wait: the time-outs of a network take their time. */
import { describe } from 'vitest'
import { canShare } from '../../cli/ends.ts'
import { places } from '../cm-kit/ends.ts'
import { interrupted, overKernel, printing, running } from './two-processes.ts'

describe.each(places)('two processes on $name', (place) => {
  printing(place)
  if (place !== places[0]) running(place)
  interrupted(place)
})

describe.skipIf(!canShare)('TCP of the kernel', () => {
  overKernel(['-T', 'a'])
  overKernel(['-T', 'b'])
})
