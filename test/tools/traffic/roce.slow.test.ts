/** Flows of `verbena traffic` on `roce`. */
import { loopbackDevice } from '../../loopback.ts'
import { flowsArrive } from './ends.ts'

flowsArrive('roce', loopbackDevice(1), loopbackDevice(2))
