/** The RDMA CM against Linux: connections between programs of librdmacm in a guest and ours, in both roles. */
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { type Guest, Lab, ours, type Program, tsharkObjections } from './lab/index.ts'

const images = inject('guestImages')
const peer = new URL('./rdma-cm-peer.ts', import.meta.url).pathname
const tsx = import.meta.resolve('tsx')

describe.skipIf(images === null)('the RDMA CM against Soft-RoCE', () => {
  let lab: Lab
  let guest: Guest
  let losing = 0
  beforeAll(async () => {
    lab = await Lab.open(1)
    guest = await lab.boot(1, images!)
  })
  afterAll(async () => await lab?.close())
  afterEach(async () => await guest.text('killall -q -9 ucmatose udaddy rping; true'))

  function start(...args: string[]): Program {
    return lab.start(process.execPath, ['--import', tsx, peer, ...args], 120_000)
  }

  async function lossy(percent: number): Promise<void> {
    if (percent === losing) return
    if (percent === 0) await guest.clearImpairment()
    else await guest.impair({ lossPercent: percent })
    losing = percent
  }

  function said(output: string): Record<string, unknown>[] {
    return output
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line))
  }

  const device = `roce:${ours.ipv4}`
  for (const percent of [0, 3]) {
    const losses = percent === 0 ? '' : `, ${percent} % lost`

    it(`ucmatose, ours the client${losses}`, async () => {
      await lossy(percent)
      const capture = await lab.capture(1, `cm-client-${percent}`)
      const job = guest.start('ucmatose -C 3 -S 200', 100_000)
      await new Promise((resolve) => setTimeout(resolve, 1500))
      const mine = await start('ucmatose', 'client', device, guest.addresses.ipv4, '7471', '3', '200').ended
      const packets = await capture.stop()
      const theirs = await job.ended
      expect(theirs, mine.output + theirs.output).toMatchObject({ code: 0 })
      expect(mine.code, mine.output).toBe(0)
      expect(said(mine.output)).toContainEqual({ received: 3, byteLen: 200 })
      expect(packets.length).toBeGreaterThan(10)
      expect(await tsharkObjections(capture.path)).toEqual([])
    }, 150_000)

    it(`ucmatose, ours the server${losses}`, async () => {
      await lossy(percent)
      const program = start('ucmatose', 'server', device, '', '7471', '3', '200')
      await program.says('"listening"', 20_000)
      const theirs = await guest.run(`ucmatose -s ${ours.ipv4} -C 3 -S 200`, 100_000)
      const mine = await program.ended
      expect(theirs.output).toContain('test complete')
      expect(theirs.code, theirs.output).toBe(0)
      expect(mine.code, mine.output).toBe(0)
      expect(said(mine.output)).toContainEqual({ received: 3, byteLen: 200 })
    }, 150_000)
  }

  it('udaddy, ours the client', async () => {
    await lossy(0)
    const job = guest.start('udaddy -C 3 -S 200', 60_000)
    await new Promise((resolve) => setTimeout(resolve, 1500))
    const mine = await start('udaddy', 'client', device, guest.addresses.ipv4, '7174', '3', '200').ended
    const theirs = await job.ended
    expect(mine.code, mine.output).toBe(0)
    expect(theirs.code, theirs.output).toBe(0)
    expect(said(mine.output)).toContainEqual({ received: 3, byteLen: 200 })
  })

  it('udaddy, ours the server', async () => {
    await lossy(0)
    const program = start('udaddy', 'server', device, '', '7174', '3', '200')
    await program.says('"listening"', 20_000)
    const theirs = await guest.run(`udaddy -s ${ours.ipv4} -C 3 -S 200`, 60_000)
    const mine = await program.ended
    expect(mine.code, mine.output).toBe(0)
    expect(theirs.output).toContain('data transfers complete')
    expect(said(mine.output)).toContainEqual({ received: 3, byteLen: 200 })
  })

  it('mckey, ours a member', async () => {
    const program = start('mckey', 'server', device, '239.77.1.1', '0', '3', '100')
    await program.says('"joined"', 20_000)
    const theirs = await guest.run(`mckey -m 239.77.1.1 -b ${guest.addresses.ipv4} -s -C 3 -S 100`, 60_000)
    const mine = await program.ended
    expect(mine.code, mine.output + theirs.output).toBe(0)
    expect(said(mine.output)).toContainEqual({ received: 3, byteLen: 100 })
  })

  it('mckey, ours the sender', async () => {
    const job = guest.start(`mckey -m 239.77.1.2 -b ${guest.addresses.ipv4} -C 3 -S 100`, 60_000)
    await new Promise((resolve) => setTimeout(resolve, 3000))
    const mine = await start('mckey', 'client', device, '239.77.1.2', '0', '3', '100').ended
    const theirs = await job.ended
    expect(mine.code, mine.output).toBe(0)
    expect(theirs.output).toContain('data transfers complete')
  })

  it('a port on which nobody listens is rejected, here and there', async () => {
    await lossy(0)
    const mine = await start('ucmatose', 'client', device, guest.addresses.ipv4, '7999', '1', '100').ended
    expect(said(mine.output).at(-1)).toEqual({ event: 'RDMA_CM_EVENT_REJECTED', status: 8 })
    const program = start('ucmatose', 'server', device, '', '7471', '1', '100')
    await program.says('"listening"', 20_000)
    const theirs = await guest.run(`ucmatose -s ${ours.ipv4} -p 7998 -C 1`, 30_000)
    expect(theirs.output).toMatch(/REJECTED|error: 8/)
    await program.stop('SIGKILL')
  })

  it('the guest has nothing to complain about', async () => {
    expect(await guest.complaints()).toEqual([])
  })
})
