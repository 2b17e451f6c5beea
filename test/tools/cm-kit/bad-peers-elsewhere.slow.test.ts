/** Bad peers of the programs of the RDMA CM, on the other kinds of device, and those that wait long on all: time-outs take their time. */
import { describe } from 'vitest'
import { badPeers, slowPeers } from './bad-peers.ts'
import { places } from './ends.ts'

describe.each(places.slice(1))('bad peers on $name', badPeers)
describe.each(places)('slow peers on $name', slowPeers)
