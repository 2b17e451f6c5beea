/** RoCEv2 over UDP sockets passes the group of the compliance suite in which threads share objects. */
import { roceRig } from './roce-rig.ts'
import { verbsCompliance } from './suite.ts'

verbsCompliance('roce', roceRig, /^M /)
