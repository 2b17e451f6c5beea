/** The shared-memory device passes the compliance suite with its two ends in two processes. */
import { complianceBetweenProcesses } from './processes/suite.ts'

const name = `shm:processes-${process.pid}`

complianceBetweenProcesses('shm', [name, name])
