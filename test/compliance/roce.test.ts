/** RoCEv2 over UDP sockets passes the compliance suite: two adapters on two loopback addresses. */
import { aging, beforePsnWrap } from '../verbs/aged.ts'
import { roceRig } from './roce-rig.ts'
import { verbsCompliance } from './suite.ts'

// But for group M, threads that share objects: roce-threads.slow.test.ts. All counts and positions are near their wraps here.
const nearWraps = { ...roceRig, open: (side: 0 | 1) => aging(roceRig.open(side)), psn: beforePsnWrap }
verbsCompliance('roce', nearWraps, /^(?!M )/)
