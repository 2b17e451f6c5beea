import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import type { Update } from '../../../src/monitor/view/index.ts'
import { begin, type Running, verbena } from '../../cli/in-process.ts'

const capture = new URL('../../captures/read_lat.pcap', import.meta.url).pathname
const folder = mkdtempSync(join(tmpdir(), 'verbena-monitor-page-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** The last update, when all was read. */
async function lastUpdate(running: Running): Promise<Update> {
  const [, url = '', token] = await running.says(/The page is at (\S+)\/#token=(\S+)/)
  await running.says(/All was read/)
  const client = new WebSocket(`${url.replace('http', 'ws')}/live?token=${token}`)
  const update = await new Promise<Update>((resolve, reject) => {
    client.on('message', (data) => {
      const message = JSON.parse(String(data)) as Update
      if (message.kind === 'update') resolve(message)
    })
    client.on('error', reject)
  })
  client.close()
  return update
}

describe('verbena monitor --page', () => {
  it('shows a file until it is interrupted, and the saved windows of it', async () => {
    const file = join(folder, 'saved')
    const watch = begin(['monitor', capture, '--save', file, '--page', '0', '--alert', 'messages > 9', '--top', '1'])
    const update = await lastUpdate(watch)
    expect(update).toMatchObject({
      ...{ isOver: true, points: [{ packets: 30 }], alerts: { rules: 1, firing: [{ metric: 'messages' }] } },
    })
    watch.interrupt()
    const { code, stdout } = await watch.outcome
    expect([code, stdout]).toEqual([130, expect.stringContaining('30 packets')])
    // Both list the same answer, the page more of it.
    const { sender, qp } = update.window!.answer.top
    expect([sender, qp!.length]).toEqual([undefined, 2])
    expect(stdout.match(/^10\.77\.0\.\d QP 0x\w+ {2}/gm)).toHaveLength(1)
    const report = begin(['monitor', 'report', file, '--page', '0', '--by', 'rkey'])
    expect(await lastUpdate(report)).toMatchObject({ window: { answer: { totals: { messages: 10 } } } })
    report.interrupt('SIGTERM')
    expect((await report.outcome).code).toBe(143)
  })

  it('ends with the sum of all windows, where there are several', async () => {
    const watch = begin(['monitor', capture, '--window', '0.01', '--page', '0'])
    const { points, sum, window } = await lastUpdate(watch)
    expect(points.length).toBeGreaterThan(1)
    expect(sum).toMatchObject({ windows: points.length, answer: { totals: { packets: 30, messages: 10 } } })
    expect(window!.answer.totals.packets).toBeLessThan(30)
    watch.interrupt()
    await watch.outcome
  })

  it('is without a token only if that was asked for, where others cannot reach it', async () => {
    const short = join(folder, 'short')
    writeFileSync(short, 'abc')
    for (const [args, said] of [
      [['--page', '0.0.0.0:0', '--page-no-token'], /--page-no-token.*is for loopback, and others can reach 0\.0\.0\.0/],
      [['--page', '0', '--page-token-file', short], /--page-token-file.*16 characters/],
      [['--page', '0', '--page-tls-key', short], /--page-tls-key.*a key needs a certificate/],
      [['--page', 'here'], /--page.*'here' is not valid/],
      [['--page-token-file', short], /--page.*is needed/],
      [['--page', '0', '--collector', 'http://localhost:1', '--token-file', short], /--page.*the collector/],
    ] as const) {
      const { code, stderr } = await verbena('monitor', capture, ...args)
      expect([code, stderr]).toEqual([2, expect.stringMatching(said)])
    }
  })
})
