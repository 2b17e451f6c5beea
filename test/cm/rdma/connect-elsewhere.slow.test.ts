/** Connections of the RDMA CM in one thread, on the kinds of device that connect.test.ts leaves. */
import { describe } from 'vitest'
import { connecting } from './connect.ts'
import { places } from './rig.ts'

describe.each(places.filter((_, i) => i % 2 === 1))('$name', connecting)
