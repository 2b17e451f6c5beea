/** RoCEv2 over UDP sockets passes the compliance suite: two adapters on two loopback addresses. */
import { roceRig } from './roce-rig.ts'
import { verbsCompliance } from './suite.ts'

// But for group M, threads that share objects: roce-threads.slow.test.ts.
verbsCompliance('roce', roceRig, /^(?!M )/)
