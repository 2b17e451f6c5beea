/** Programs on rsockets whose peer says other things, on the first kind of device. */
import { describe } from 'vitest'
import { places } from '../cm-kit/ends.ts'
import { badPeers } from './bad-peers.ts'

describe.each(places.slice(0, 1))('bad peers on $name', { timeout: 120_000 }, badPeers)
