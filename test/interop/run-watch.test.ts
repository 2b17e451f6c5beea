/** What `verbena run` says of unmodified programs of libibverbs: reasons, a trace, counts, errnos of doorbells; and `verbena/run` with them. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TraceRecord } from '../../src/run/watch/index.ts'
import { command, runChildModule } from '../built.ts'
import { blocksOf, root, textOf } from '../docs/markdown.ts'
import { type Ended, start } from './launchers.ts'

const has = (program: string): boolean => spawnSync('which', [program]).status === 0
const lacking = ['ibv_rc_pingpong', 'gcc'].filter((program) => !has(program))
if (!existsSync('/usr/include/infiniband/verbs.h')) lacking.push("libibverbs's headers (Debian's libibverbs-dev)")
if (!existsSync('/etc/libibverbs.d/rxe.driver')) lacking.push("the rxe provider (Debian's ibverbs-providers)")
if (lacking.length > 0) console.warn(`skipped: what \`verbena run\` says of programs needs ${lacking.join(', ')}`)
const there = test.skipIf(lacking.length > 0)

const folder = mkdtempSync(join(tmpdir(), 'verbena-run-watch-'))
const failures = join(folder, 'failures')
const device = `shm:run-watch-${process.pid}`
beforeAll(() => {
  if (lacking.length > 0) return
  const source = new URL('programs/run-failures.c', import.meta.url).pathname
  execFileSync('gcc', ['-Wall', '-Werror', '-o', failures, source, '-libverbs'])
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const run = (...args: string[]): Promise<Ended> =>
  start(process.execPath, [command, 'run', '--device', device, ...args]).ended

/** A program and the same as its client, which connects until the server listens. */
const pingPong =
  `ibv_rc_pingpong -n 20 -p PORT & until ibv_rc_pingpong -n 20 -p PORT localhost 2>/dev/null; do :; done; wait`.replaceAll(
    'PORT',
    String(24_000 + (process.pid % 4000)),
  )

there('--explain says once why each verb failed, with values and what is allowed', async () => {
  const { code, stdout, stderr } = await run('--explain', '--', failures)
  expect({ code, stdout: stdout.trim().split('\n') }).toEqual({
    code: 0,
    stdout: [
      'ibv_create_cq: Invalid argument',
      'ibv_create_qp: Operation not supported',
      ...Array(3).fill('ibv_modify_qp: Invalid argument'),
      'ibv_post_send in INIT: 0',
      ...['remote access error', 'remote access error', 'local protection error'].map((text) => `wr_id 7: ${text}`),
      ...['RNR retry counter exceeded', 'transport retry counter exceeded'].map((text) => `wr_id 7: ${text}`),
    ],
  })
  const hex = '0x[0-9a-f]+'
  const expected = [
    'ibv_create_cq: cqe is 1073741824; a queue has 1 to \\d+ \\(EINVAL\\)',
    'ibv_create_qp: qp_type is 8; this adapter has IBV_QPT_RC \\(2\\), .* \\(EOPNOTSUPP\\)',
    'ibv_modify_qp: RC from INIT to RTR needs IBV_QP_AV; attr_mask lacks it \\(EINVAL\\)',
    `ibv_post_send: queue pair ${hex} is in INIT, and requests are posted from RTS on: they wait .*`,
    `ibv_post_send: IBV_WR_RDMA_READ wr_id 0x7: remote access error: 64 bytes at ${hex} with rkey ${hex}: its region has the 4096 bytes from ${hex} to ${hex}`,
    `IBV_EVENT_QP_ACCESS_ERR: queue pair ${hex} went to ERR: .*`,
    `ibv_post_send: IBV_WR_RDMA_WRITE wr_id 0x7: remote access error: .*: its region lacks IBV_ACCESS_REMOTE_WRITE; it has IBV_ACCESS_LOCAL_WRITE\\|IBV_ACCESS_REMOTE_READ`,
    `IBV_EVENT_QP_ACCESS_ERR: queue pair ${hex} went to ERR: .*`,
    'ibv_post_send: IBV_WR_SEND wr_id 0x7: local protection error: sg_list\\[0\\] is 64 bytes at .* with lkey 0x1234: nothing has this key.*',
    `ibv_post_send: IBV_WR_SEND wr_id 0x7: RNR retry exceeded: queue pair ${hex} had no receive posted, tried 1 time; rnr_retry is 0 .*`,
    'ibv_post_send: IBV_WR_SEND wr_id 0x7: retry exceeded: there is no queue pair 0x123456 on this adapter; timeout is 8, retry_cnt 1',
    '3 times: ibv_modify_qp: RC from INIT to RTR needs IBV_QP_AV; attr_mask lacks it \\(EINVAL\\)',
  ]
  const lines = stderr.trim().split('\n')
  expect(lines).toEqual(expected.map((line) => expect.stringMatching(new RegExp(`^failures\\[\\d+\\]: ${line}$`))))
})

there('--strict gives ibv_post_send the errno of the kernel', async () => {
  const { stdout, stderr } = await run('--strict', '--explain', '--', failures)
  expect(stdout).toContain('ibv_post_send in INIT: 22\n')
  expect(stderr).toMatch(/ibv_post_send: the queue pair is in INIT; requests are posted from RTS on \(EINVAL\)/)
})

there('nothing is said of a program that fails in nothing', async () => {
  const { code, stderr } = await run('--explain', '--', 'sh', '-c', pingPong)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
})

there('--trace has commands, requests and completions; --counters ends with a table', async () => {
  const { code, stderr } = await run('--trace', '--counters', '--', 'sh', '-c', pingPong)
  expect(code).toBe(0)
  for (const line of [
    /^\d\d:\d\d:\d\d\.\d{6} ibv_rc_pingpong\[\d+\] ibv_alloc_pd\(\) = pd=1$/m,
    /ibv_reg_mr\(start=0x[0-9a-f]+, length=4096, .*access_flags=IBV_ACCESS_LOCAL_WRITE\) = mr=2, lkey=0x/,
    /ibv_create_qp\(pd=1, send_cq=3, recv_cq=3, cap=\{max_send_wr=1, .*type=IBV_QPT_RC, .*\) = qp=4, .*qpn=0x/,
    /ibv_modify_qp\(qp=4, attr_mask=IBV_QP_STATE\|IBV_QP_AV.* qp_state=IBV_QPS_RTR, ah_attr=\{dlid=1,.*\) = 0$/m,
    / {2}qp 0x[0-9a-f]+ takes wr_id=0x2 IBV_WR_SEND IBV_SEND_SIGNALED length=4096 \[\{0x/,
    / {2}cq 3 gets qp 0x[0-9a-f]+ wr_id=0x2 IBV_WC_SUCCESS IBV_WC_SEND byte_len=/,
    /ibv_destroy_qp\(qp=4\) = events_reported=0$/m,
    /^ibv_rc_pingpong\[\d+\] +\d+ +0 +20 +81920 +20 +81920 +40 +0 +0$/m,
    /^rxe0 \(shm:run-watch-\d+\) +\d+ +0 +40 +163840 +40 +163840 +80 +0 +0$/m,
  ])
    expect(stderr).toMatch(line)
})

there('--trace=FILE --json writes an object a line, and the counts last', async () => {
  const file = join(folder, 'trace.json')
  const { code, stderr } = await run(`--trace=${file}`, '--json', '--', failures)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const records: TraceRecord[] = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const failed = records.filter((record) => record.type === 'command' && record.errno === 'EINVAL')
  expect(failed).toHaveLength(4)
  expect(records.at(-1)).toMatchObject({ type: 'counters', adapters: [{ failures: 5, errors: 5 }] })
  expect(records.filter((record) => record.type === 'completion')).toEqual(
    expect.arrayContaining([expect.objectContaining({ wrId: '0x7', status: 'IBV_WC_REM_ACCESS_ERR' })]),
  )
})

there('verbena/run hands out records and counts', async () => {
  const module = (await import(pathToFileURL(runChildModule).href)) as typeof import('../../src/run/child/index.ts')
  const port = String(28_000 + (process.pid % 4000))
  const options = { devices: [device], trace: true, counters: true }
  const server = await module.run('ibv_rc_pingpong', ['-n', '10', '-p', port], options)
  const seen: string[] = []
  server.on('record', (record) => seen.push(record.type === 'command' ? record.verb : record.type))
  let result = { code: 1 as number | null }
  while (result.code !== 0 && server.exitCode === null) {
    const client = await module.run('ibv_rc_pingpong', ['-n', '10', '-p', port, 'localhost'], options)
    result = await client.ended
  }
  expect(await server.ended).toEqual({ code: 0, signal: null })
  expect(seen).toEqual(expect.arrayContaining(['ibv_open_device', 'ibv_create_qp', 'receive', 'request', 'completion']))
  expect(server.counters).toMatchObject({ programs: [{ program: 'ibv_rc_pingpong', requests: 10, received: 10 }] })
})

there('the example of the guide runs', async () => {
  const [program] = blocksOf(textOf('docs/guide/run.md'), 'js').filter((block) => block.includes("from 'verbena/run'"))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules/verbena'))
  writeFileSync(join(folder, 'example.test.mjs'), program!)
  const { code, stdout } = await start(process.execPath, ['--test', join(folder, 'example.test.mjs')]).ended
  expect(code, stdout).toBe(0)
  expect(stdout).toMatch(/pass 1/)
})
