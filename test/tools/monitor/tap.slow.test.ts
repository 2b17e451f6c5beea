/** `verbena monitor --tap`: what short programs send is counted, each message once. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/memory/index.ts'
import type { WindowAnswer } from '../../../src/monitor/index.ts'
import { command } from '../../built.ts'
import { begin, verbena } from '../../cli/in-process.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-monitor-tap-'))
afterAll(() => rmSync(folder, { recursive: true }))

const windowsOf = (text: string): WindowAnswer[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as WindowAnswer)

function sum(windows: readonly WindowAnswer[], counter: 'roce' | 'messages' | 'icrc' | 'malformed'): number {
  return windows.reduce((all, { totals }) => all + totals[counter], 0)
}

/** COUNT SENDs of 5000 bytes from one device to another, which may be the same; then it opens devices again for as many; then it exits with CODE. */
const program = join(folder, 'program.mjs')
writeFileSync(
  program,
  `
  const v = await import(${JSON.stringify(new URL('../../../dist/index.js', import.meta.url).href)})
  const [from, to, count, code] = process.argv.slice(2)
  function open(device) {
    const context = v.openDevice(device)
    const cq = context.createCq(16)
    const pd = context.allocPd()
    const mr = pd.regMr(context.alloc(8192), v.Access.LocalWrite)
    return { context, cq, pd, mr, qp: pd.createQp({ type: v.QpType.RC, sendCq: cq, recvCq: cq }) }
  }
  const wc = v.workCompletions(4)
  for (let round = 0; round < 2; round++) {
    const [a, b] = [open(from), open(to)]
    const [one, two] = [v.endpointOf(a.qp), v.endpointOf(b.qp)]
    v.connectQp(a.qp, one, two)
    v.connectQp(b.qp, two, one)
    const sgList = (mr) => [{ addr: mr.addr, length: 5000, lkey: mr.lkey }]
    for (let i = 0; i < Number(count); i++) {
      b.qp.postRecv({ wrId: i, sgList: sgList(b.mr) })
      a.qp.postSend({ wrId: i, opcode: v.Opcode.Send, sendFlags: v.SendFlag.Signaled, sgList: sgList(a.mr) })
      for (let done = 0; done < 2; ) {
        done += a.cq.poll(wc) + b.cq.poll(wc)
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    for (const { context, cq, pd, mr, qp } of [a, b]) for (const one of [qp, mr, pd, cq, context]) one.close()
  }
  process.exit(Number(code))`,
)

describe.skipIf(!nativeAvailable)('verbena monitor --tap', () => {
  it.each([
    ['between two devices', loopbackDevice(1), loopbackDevice(2)],
    ['of a device to itself', loopbackDevice(3), loopbackDevice(3)],
  ])('counts each message once: %s, opened twice; and ends as the program does', async (_, from, to) => {
    const { code, stdout } = await verbena(
      ...['monitor', '--tap', '--json', '--', process.execPath, program, from, to, '20', '3'],
    )
    const windows = windowsOf(stdout)
    expect(code).toBe(3)
    expect(sum(windows, 'messages')).toBe(2 * 20)
    expect([sum(windows, 'icrc'), sum(windows, 'malformed')]).toEqual([0, 0])
  })

  it('counts each message once between two processes', async () => {
    const run = `"$0" "$1" rc_pingpong -n 30 -s 5000 --port ${20_000 + (process.pid % 10_000)}`
    const client = `${run} -d ${loopbackDevice(5)} ${loopbackAddress(4)}`
    // The server may not listen yet.
    const script = `${run} -d ${loopbackDevice(4)} & for n in $(seq 100); do ${client} && break; sleep 0.1; done; wait`
    const { code, stdout } = await verbena(
      ...['monitor', '--tap', '--json', '--', 'sh', '-c', script, process.execPath, command],
    )
    expect([code, sum(windowsOf(stdout), 'messages')]).toEqual([0, 2 * 30])
  })

  it('hands windows out while the program runs, gives it Ctrl-C, and an agent of it sends what it passed', async () => {
    const token = join(folder, 'token')
    writeFileSync(token, '0123456789abcdef0123\n')
    const collector = begin(['monitor', 'collector', '--listen', '0', '--token-file', token, '--json'])
    const [, url = ''] = await collector.says(/Collecting at (\S+);/)
    const endless = [process.execPath, program, loopbackDevice(6), loopbackDevice(7), '1000000000', '0']
    const agent = begin(['monitor', '--tap', '--collector', url, '--token-file', token, '--', ...endless])
    await collector.says(/"messages":[1-9]/)
    agent.interrupt()
    const { code, stderr } = await agent.outcome
    expect([code, stderr]).toEqual([130, expect.stringContaining('The command ended with a signal.')])
    collector.interrupt()
    expect(sum(windowsOf((await collector.outcome).stdout), 'messages')).toBeGreaterThan(0)
  })

  it('ends the program when its time is over, and says that it had no packets', async () => {
    const idle = ['--', process.execPath, '-e', 'setInterval(() => {}, 1000)']
    const { code, stderr } = await verbena('monitor', '--tap', '--duration', '0.5', ...idle)
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^No roce device .*\nThe command was ended: /)])
  })
})
