/** Two processes with an adapter each, and a thread in each that executes requests, pass the compliance suite. */
import { loopbackDevice } from '../loopback.ts'
import { complianceBetweenProcesses } from './processes/suite.ts'
import { busyMachine } from './shm-rig.ts'

const options = { engine: 'thread' } as const
const segment = `shm:engines-${process.pid}`

complianceBetweenProcesses('shm with engine threads', [segment, `${segment}/1`], { options })
complianceBetweenProcesses('roce with engine threads', [loopbackDevice(1), loopbackDevice(2)], {
  options,
  connect: busyMachine,
})
