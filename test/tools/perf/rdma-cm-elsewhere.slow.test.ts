/** `verbena perf … -R` on the other kinds of device. */
import { describe } from 'vitest'
import { kinds, rdmaCm } from './rdma-cm.ts'

describe.each(kinds.slice(1))('two processes on $name', rdmaCm)
