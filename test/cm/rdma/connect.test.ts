/** Connections of the RDMA CM in one thread, on one kind of shared memory and one of network. */
import { describe } from 'vitest'
import { connecting } from './connect.ts'
import { places } from './rig.ts'

describe.each(places.filter((_, i) => i % 2 === 0))('$name', connecting)
