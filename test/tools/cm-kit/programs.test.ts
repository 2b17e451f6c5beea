/** The programs of the RDMA CM between two processes, on the first kind of device; wire.slow.test.ts has them on `roce`. */
import { describe } from 'vitest'
import { places } from './ends.ts'
import { programs } from './programs.ts'

describe.each(places.slice(0, 1))('two processes on $name', { timeout: 120_000 }, programs)
