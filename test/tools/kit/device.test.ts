/** Which adapter a program of two processes takes, and whether two of them can meet. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { apart, openNamed } from '../../../src/tools/kit/index.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

describe('the adapter', () => {
  it('is that of the option, else that of the environment', () => {
    vi.stubEnv('VERBENA_DEVICE', 'shm1')
    expect(() => openNamed('shm0')).toThrow(/^-d: shm0 lives within one process/)
    expect(() => openNamed(undefined)).toThrow(/^VERBENA_DEVICE: shm1 lives within one process/)
    vi.stubEnv('VERBENA_DEVICE', 'mlx5_99')
    expect(() => openNamed(undefined)).toThrow(/^VERBENA_DEVICE: 'mlx5_99' cannot be used/)
  })
})

describe('two adapters', () => {
  it.each([
    ['shm:lab', 'shm:lab'],
    ['shm:lab', 'shm:lab/1'],
    ['roce:10.0.0.1', 'roce:10.0.0.2'],
    ['roce:10.0.0.1', 'mlx5_0'],
  ])('%s and %s may meet', (here, there) => {
    expect([apart(here, there), apart(there, here)]).toEqual([undefined, undefined])
  })

  it.each([
    ['shm:lab', 'shm:lab2', 'different segments'],
    ['shm:lab/1', 'shm:other/1', 'different segments'],
    ['shm:lab', 'roce:10.0.0.1', 'do not reach each other'],
    ['mlx5_0', 'shm:lab', 'do not reach each other'],
  ])('%s and %s never do', (here, there, why) => {
    expect(apart(here, there)).toContain(`this end is on ${here} and the other on ${there}`)
    expect(apart(here, there)).toContain(why)
    expect(apart(there, here)).toContain(why)
  })
})
