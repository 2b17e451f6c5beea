/** How middleware is named: by functions and by the environment. */
import { once } from 'node:events'
import { describe, expect, it, vi } from 'vitest'
import { parseFaults, wrapsOfEnvironment } from '../../../src/devices/middleware/index.ts'
import { faults, openDevice, tap, trace, VerbsError } from '../../../src/index.ts'

describe('faults of the environment', () => {
  it.each([
    ['loss=3%,seed=7', { loss: 0.03, seed: 7 }],
    ['loss=0.5, duplication = 1%', { loss: 0.5, duplication: 0.01 }],
    ['delay=2ms,jitter=500us,reorder=1s', { delayMs: 2, jitterMs: 0.5, reorderMs: 1000 }],
    ['delay=3,direction=out', { delayMs: 3, direction: 'out' }],
    ['corruption=0.1%,reordering=2%', { corruption: 0.001, reordering: 0.02 }],
  ])('%s', (text, rates) => {
    expect(parseFaults(text)).toEqual({ kind: 'faults', ...rates })
  })

  it.each([
    ['loss', "'loss' is no setting"],
    ['loss=120%', 'loss is a probability from 0 to 1, not 1.2'],
    ['loss=x', 'loss is a probability from 0 to 1, not NaN'],
    ['lost=1%', "there is no fault 'lost'; there are direction, seed, loss"],
    ['delay=fast', "'fast' is no time: write 2ms"],
    ['delay=2h', "'2h' is no time"],
    ['delay=100s', 'delayMs is from 0 to 60000 milliseconds'],
    ['direction=up', "direction is 'out', 'in' or 'both'"],
    ['seed=1.5', 'seed is an integer'],
  ])('%s is refused', (text, message) => {
    expect(() => parseFaults(text)).toThrow(message)
    expect(() => parseFaults(text)).toThrow(VerbsError)
  })

  it('are named by their variable where they are malformed, on every device', () => {
    vi.stubEnv('VERBENA_FAULTS', 'loss=300%')
    for (const device of ['shm0', 'roce:127.0.0.1'])
      expect(() => openDevice(device)).toThrow(/^openDevice: VERBENA_FAULTS: loss is a probability from 0 to 1, not 3 /)
    vi.unstubAllEnvs()
  })

  it('do nothing on a device without a link, which a warning says', async () => {
    vi.stubEnv('VERBENA_FAULTS', 'loss=1%')
    const warning = once(process, 'warning') as Promise<[Error & { code: string }]>
    openDevice('shm0').close()
    openDevice('shm1').close()
    vi.unstubAllEnvs()
    const [{ code, message }] = await warning
    expect(code).toBe('VERBENA_NO_LINK')
    expect(message).toMatch(/^VERBENA_FAULTS: shm0 has no link/)
  })

  it('come first, and the tap is nearest to the wire', () => {
    const env = { VERBENA_TAP: 'a-%p.pcapng', VERBENA_FAULTS: 'loss=1%', VERBENA_TRACE: '1' }
    expect(wrapsOfEnvironment(env)).toEqual([
      { kind: 'faults', loss: 0.01 },
      { kind: 'trace' },
      { kind: 'tap', path: `a-${process.pid}.pcapng` },
    ])
    expect(wrapsOfEnvironment({ VERBENA_TRACE: '0', VERBENA_TAP: '' })).toEqual([])
  })
})

it('what is no layer is refused', () => {
  expect(() => tap('')).toThrow('a tap needs the name of a file')
  expect(() => trace(1 as never)).toThrow('onLine is a function')
  expect(() => faults({ loss: -1 })).toThrow('loss is a probability')
  expect(() => openDevice('shm0', { wrap: {} as never })).toThrow('wrap must be a list')
  expect(() => openDevice('shm0', { wrap: [trace()] })).toThrow('shm0 has no link that could be wrapped')
})
