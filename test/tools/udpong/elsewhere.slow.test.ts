/** udpong between two processes, on the other kinds of device. */
import { describe } from 'vitest'
import { places } from '../cm-kit/ends.ts'
import { twoProcesses } from './two-processes.ts'

describe.each(places.slice(1))('two processes on $name', { timeout: 120_000 }, twoProcesses)
