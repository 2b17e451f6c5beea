/** A RoCE adapter passes the compliance suite with its two ends in two processes that share it. */
import { loopbackDevice } from '../loopback.ts'
import { complianceBetweenProcesses } from './processes/suite.ts'
import { busyMachine } from './shm-rig.ts'

const name = loopbackDevice(1)

complianceBetweenProcesses('roce', [name, name], { connect: busyMachine })
