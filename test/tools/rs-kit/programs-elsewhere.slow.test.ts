/** rstream, riostream and rcopy between two processes, on the other kinds of device, and with the other ways to wait: the time-outs of a network take their time. */
import { describe } from 'vitest'
import { canShare } from '../../cli/ends.ts'
import { places } from '../cm-kit/ends.ts'
import { overKernel, printing, running } from './two-processes.ts'

describe.each(places.slice(1))('two processes on $name', { timeout: 120_000 }, (place) => {
  printing(place)
  running(place)
})

describe.skipIf(!canShare)('TCP of the kernel', { timeout: 120_000 }, () => {
  overKernel(['-T', 'a'])
  overKernel(['-T', 'b'])
})
