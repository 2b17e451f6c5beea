import { rmSync } from 'node:fs'
import { describe } from 'vitest'
import { testHandOver } from '../hand-over.ts'

const name = `hand-over-${process.pid}`

describe('hand-over', () => {
  testHandOver(`shm:${name}`, `shm:${name}/1`, { end: () => rmSync(`/dev/shm/verbena-${name}`, { force: true }) })
})
