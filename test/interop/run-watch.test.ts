/** What `verbena run` says of unmodified programs: reasons, a trace, counts, errnos of doorbells; and `verbena/run` with them. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CountersRecord, TraceRecord } from '../../src/run/watch/index.ts'
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

const records = (file: string): TraceRecord[] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

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
  const all = records(file)
  const failed = all.filter((record) => record.type === 'command' && record.errno === 'EINVAL')
  expect(failed).toHaveLength(4)
  expect(all.at(-1)).toMatchObject({ type: 'counters', adapters: [{ failures: 5, errors: 5 }] })
  expect(all.filter((record) => record.type === 'completion')).toEqual(
    expect.arrayContaining([expect.objectContaining({ wrId: '0x7', status: 'IBV_WC_REM_ACCESS_ERR' })]),
  )
})

test.skipIf(lacking.length > 0 || !has('rping'))(
  'rping: commands and events of the RDMA CM, and why it is rejected',
  async () => {
    const port = 32_000 + (process.pid % 4000)
    const file = join(folder, 'rping.json')
    const rping = (end: string): string => `rping ${end} -a 127.0.0.1 -C 2 -p ${port}`
    const { code, stderr } = await run(
      ...['--explain', `--trace=${file}`, '--json', '--', 'sh', '-c'],
      // Nobody sees from outside when the server listens.
      `${rping('-c')} > ${folder}/alone 2>&1; ${rping('-s')} & until ${rping('-c')} > /dev/null 2>&1; do kill -0 $! || exit 9; done; wait`,
    )
    expect(code, stderr).toBe(0)
    expect(stderr).toMatch(
      new RegExp(
        `^rping\\[\\d+\\]: RDMA_CM_EVENT_REJECTED: 127\\.0\\.0\\.1 port ${port} .*reason 8, invalid service ID: nobody`,
        'm',
      ),
    )
    const all = records(file)
    const programs = (all.at(-1) as CountersRecord).programs.filter(({ received }) => received > 0)
    expect(programs).toHaveLength(2)
    const told = programs.map(({ pid, cmEvents }) => {
      const own = all.filter((record) => record.type !== 'counters' && record.pid === pid)
      const events = own.flatMap((record) => (record.type === 'cm-event' ? record.event.slice(14) : []))
      expect(cmEvents).toBe(events.length)
      return { events, verbs: new Set(own.flatMap((record) => (record.type === 'command' ? record.verb : []))) }
    })
    const client = told.find(({ verbs }) => verbs.has('rdma_connect'))!
    const server = told.find(({ verbs }) => verbs.has('rdma_listen'))!
    const resolved = ['ADDR_RESOLVED', 'ROUTE_RESOLVED']
    expect(client.events).toEqual([...resolved, 'CONNECT_RESPONSE', 'DISCONNECTED'])
    expect(server.events).toEqual(['CONNECT_REQUEST', 'ESTABLISHED', 'DISCONNECTED'])
    for (const verb of ['rdma_create_id', 'rdma_accept', 'rdma_init_qp_attr', 'rdma_destroy_id', 'ibv_reg_mr'])
      for (const { verbs } of [client, server]) expect(verbs).toContain(verb)
  },
)

test.skipIf(lacking.length > 0 || !has('smpquery'))(
  'smpquery: its management datagrams, and who did not answer',
  async () => {
    const { stderr } = await run(
      '--trace',
      '--explain',
      '--counters',
      '--',
      'sh',
      '-c',
      'smpquery nodeinfo 1; smpquery -t 100 nodeinfo 9',
    )
    const name = 'smpquery\\[\\d+\\]'
    for (const line of [
      `${name} umad_register\\(qp=0, mgmt_class=0x1, class_version=1, rmpp=0\\) = agent=0$`,
      `${name}   sends SubnGet\\(NodeInfo\\) tid=0x\\w+ status=0x0 lid=1 qp=0 length=256$`,
      `${name}   gets SubnGetResp\\(NodeInfo\\) tid=0x\\w+ status=0x0 lid=1 qp=0 length=256$`,
      `${name}   has no response to SubnGet\\(NodeInfo\\) tid=0x\\w+ status=0x0 lid=9 qp=0 length=256 \\(umad_send: .*\\)$`,
      `^${name}: umad_send: SubnGet\\(NodeInfo\\) to LID 9 QP 0 had no response within 100 ms: no adapter has that LID; there are 1 and 2$`,
      `^${name} +\\d+ +0 +0 +0 +0 +0 +0 +1 +1 +0 +0$`,
      // On a machine that does much else it sends it again.
      `^${name} +\\d+ +0 +0 +0 +0 +0 +0 +[1-9] +0 +[1-9] +0$`,
    ])
      expect(stderr).toMatch(new RegExp(line, 'm'))
  },
)

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
