/** Where programs of the RDMA CM wait: what an interruption in the middle of a sleep leaves behind. */
import { afterEach, expect, it, vi } from 'vitest'
import { type CompletionChannel, openDevice, QpState, QpType } from '../../../src/index.ts'
import { Station } from '../../../src/tools/cm-kit/station.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

// An event that was taken and not acknowledged would block the thread in the `close` of its CQ.
it.each([0, 1, 2, 3, 4, 5, 6, 8, 10])(
  'one that is interrupted while it sleeps closes what it has, %i promises behind its last completions',
  async (promises) => {
    const context = openDevice('shm0')
    const controller = new AbortController()
    const station = new Station({ device: 'shm0', stallMs: 0, signal: controller.signal })
    const made = vi.spyOn(context, 'createCompChannel')
    const cq = station.createCq(context, 16, () => undefined)
    const channel = made.mock.results[0]!.value as CompletionChannel
    const pd = context.allocPd()
    const cap = { maxSendWr: 1, maxRecvWr: 1, maxSendSge: 1, maxRecvSge: 1 }
    const qp = pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq, cap })
    qp.modify({ state: QpState.Init, pkeyIndex: 0, port: 1, accessFlags: 0 })
    qp.postRecv({ sgList: [] })

    const sleeps = vi.spyOn(channel, 'whenEvent')
    const interrupted = station
      .until('nothing', () => false)
      .catch(async (error: unknown) => {
        // The flushed receive makes an event for whoever sleeps.
        qp.modify({ state: QpState.Err })
        for (let i = 0; i < promises; i++) await null
        qp.close()
        station.closeCq(cq)
        return error
      })
    await vi.waitFor(() => expect(sleeps).toHaveBeenCalled(), { interval: 2 })
    controller.abort()
    expect(await interrupted).toMatchObject({ code: 'INTERRUPTED' })
    // It does not sleep for nobody.
    expect(sleeps.mock.calls.length).toBe(1)
    station.close()
    pd.close()
    context.close()
  },
)
