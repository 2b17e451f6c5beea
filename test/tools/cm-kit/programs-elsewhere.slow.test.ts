/** The programs of the RDMA CM between two processes, on the other kinds of device. */
import { describe } from 'vitest'
import { places } from './ends.ts'
import { programs } from './programs.ts'

describe.each(places.slice(1))('two processes on $name', programs)
