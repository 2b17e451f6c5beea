/** Programs on rsockets whose peer says other things, on the other kinds of device. */
import { describe } from 'vitest'
import { places } from '../cm-kit/ends.ts'
import { badPeers } from './bad-peers.ts'

describe.each(places.slice(1))('bad peers on $name', badPeers)
