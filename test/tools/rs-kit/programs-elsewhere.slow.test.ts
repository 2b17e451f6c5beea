/** rstream, riostream and rcopy between two processes, on the other kinds of device: the time-outs of a network take their time. */
import { describe } from 'vitest'
import { places } from '../cm-kit/ends.ts'
import { printing, running } from './two-processes.ts'

describe.each(places.slice(1))('two processes on $name', { timeout: 120_000 }, (place) => {
  printing(place)
  running(place)
})
