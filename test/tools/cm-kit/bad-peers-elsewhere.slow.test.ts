/** Bad peers of the programs of the RDMA CM, on the other kinds of device: time-outs of a network take their time. */
import { describe } from 'vitest'
import { badPeers } from './bad-peers.ts'
import { places } from './ends.ts'

describe.each(places.slice(1))('bad peers on $name', { timeout: 120_000 }, badPeers)
