/**
 * Runs in a network namespace of its own (`unshare -nm`): watches an interface live in every way that `verbena monitor` has, while two of our devices
 * exchange messages over it, and prints what each of them has seen as JSON.
 *
 *     node monitor-live.mjs CLI LIBRARY lo|veth|drops MESSAGES
 *
 * `drops`: the monitor is stopped while more comes than its ring has room for.
 */
import { execFileSync, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'ws'

const [, , cli, library, kind, count] = process.argv
const isVeth = kind === 'veth'
const watched = isVeth ? 'v0' : 'lo'
const running = []

function start(command, ...args) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const run = { child, stdout: '', stderr: '', ended: once(child, 'exit').then(([code]) => code) }
  child.stdout.on('data', (chunk) => {
    run.stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    run.stderr += chunk
  })
  running.push(run)
  return run
}

async function until(what, get) {
  const endMs = Date.now() + 30_000
  for (;;) {
    const found = get()
    if (found) return found
    if (Date.now() > endMs) throw new Error(`not seen: ${what} in ${running.map((run) => run.stderr).join()}`)
    await pause(20)
  }
}

/** A counter of all windows that have ended. */
const sum = (run, counter) =>
  run.stdout
    .split('\n')
    .slice(0, -1)
    .reduce((all, line) => all + JSON.parse(line).totals[counter], 0)

const ip = (...args) => execFileSync('ip', args)
ip('link', 'set', 'lo', 'up')
if (isVeth) {
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', '/run'])
  ip('netns', 'add', 'peer')
  ip('link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1')
  ip('link', 'set', 'v1', 'netns', 'peer')
  ip('addr', 'add', '10.9.0.1/24', 'dev', 'v0')
  ip('link', 'set', 'v0', 'up')
  ip('-n', 'peer', 'addr', 'add', '10.9.0.2/24', 'dev', 'v1')
  ip('-n', 'peer', 'link', 'set', 'v1', 'up')
  ip('-n', 'peer', 'link', 'set', 'lo', 'up')
}

if (kind === 'drops') {
  await drops()
  process.exit(0)
}

const monitor = (...args) => start(process.execPath, cli, 'monitor', '-i', watched, ...args)
const json = monitor(
  '--json',
  '--page',
  '0',
  '--page-no-token',
  '--metrics',
  '127.0.0.1:0',
  '--metrics-no-token',
  '--by',
  'hosts',
)
const screen = monitor('--view', 'top', '--by', 'operation')
const folder = mkdtempSync(join(tmpdir(), 'verbena-live-'))
const file = join(folder, 'live.pcapng')
const collect = start(process.execPath, cli, 'collect', 'trace', '-i', watched, '-w', file, '--json')
const pipe = start(
  ...['sh', '-c', 'tcpdump -i "$0" -B 65536 -U -w - udp port 4791 | "$1" "$2" monitor - --json'],
  ...[watched, process.execPath, cli],
)
await until('interfaces', () => [json, screen].every(({ stderr }) => stderr.includes('Watching')))
await until('collect', () => collect.stderr.includes('Capturing'))
await until('tcpdump', () => pipe.stderr.includes('listening'))
const metricsUrl = /metrics at (\S+)/.exec(json.stderr)[1]
const pageUrl = /page is at (\S+)/.exec(json.stderr)[1]

/** Datagrams of 60 kB to the port of RoCEv2, of which none is a sound packet. */
async function drops() {
  const run = start(process.execPath, cli, 'monitor', '-i', 'lo', '--json')
  await until('interface', () => run.stderr.includes('Watching'))
  run.child.kill('SIGSTOP')
  const socket = createSocket('udp4')
  const datagram = Buffer.alloc(60_000)
  for (let i = 0; i < Number(count); i++)
    await new Promise((resolve) => socket.send(datagram, 4791, '127.0.0.1', resolve))
  socket.close()
  run.child.kill('SIGCONT')
  await until('all of them', () => sum(run, 'roce') + sum(run, 'dropped') >= Number(count))
  run.child.kill('SIGINT')
  const code = await run.ended
  console.log(
    JSON.stringify({
      ...{ code, roce: sum(run, 'roce'), dropped: sum(run, 'dropped') },
      overload: run.stdout.includes('"kind":"overload"'),
    }),
  )
}

/** Two devices in this process; what they count as sent. */
async function ofThisProcess() {
  const v = await import(library)
  const open = (device) => {
    const context = v.openDevice(device)
    const cq = context.createCq(16)
    const pd = context.allocPd()
    const mr = pd.regMr(context.alloc(8192), v.Access.LocalWrite)
    const qp = pd.createQp({ type: v.QpType.RC, sendCq: cq, recvCq: cq })
    return { context, cq, mr, qp, end: v.endpointOf(qp) }
  }
  const [a, b] = [open('roce:127.0.0.1'), open('roce:127.0.0.2')]
  v.connectQp(a.qp, a.end, b.end)
  v.connectQp(b.qp, b.end, a.end)
  const wc = v.workCompletions(4)
  const sgList = ({ mr }) => [{ addr: mr.addr, length: 8000, lkey: mr.lkey }]
  for (let i = 0; i < Number(count); i++) {
    b.qp.postRecv({ wrId: i, sgList: sgList(b) })
    a.qp.postSend({ wrId: i, opcode: v.Opcode.Send, sendFlags: v.SendFlag.Signaled, sgList: sgList(a) })
    for (let done = 0; done < 2; ) {
      const polled = a.cq.poll(wc) + b.cq.poll(wc)
      for (let n = 0; n < polled; n++) if (wc[n].status !== v.WcStatus.Success) throw new Error(wc[n].statusText)
      done += polled
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  // Nothing is sent any more.
  for (const { qp } of [a, b]) qp.close()
  const [one, two] = [a, b].map(({ context }) => context.counters())
  return Number(one.sent_pkts) + Number(two.sent_pkts)
}

async function ofTwoProcesses() {
  const pingpong = [cli, 'rc_pingpong', '-n', `${Number(count) / 2}`, '-s', '8000', '-m', '1024', '-d']
  const server = start('ip', 'netns', 'exec', 'peer', process.execPath, ...pingpong, 'roce:10.9.0.2')
  await until('the server', () => server.stdout.includes('local address'))
  const client = start(process.execPath, ...pingpong, 'roce:10.9.0.1', '10.9.0.2')
  const codes = await Promise.all([client.ended, server.ended])
  if (codes.some((code) => code !== 0)) throw new Error(client.stderr + server.stderr)
  return null
}

const sent = isVeth ? await ofTwoProcesses() : await ofThisProcess()
// The last windows end with the clock: nothing is sent any more.
for (const [name, run] of Object.entries({ json, pipe }))
  await until(`${count} messages in ${name}`, () => sum(run, 'messages') >= Number(count))
await until('the screen', () => screen.stdout.includes('RC SEND'))

const metrics = await (await fetch(metricsUrl)).text()
const client = new WebSocket(`${pageUrl.replace('http', 'ws')}/live`)
const update = await new Promise((resolve, reject) => {
  client.on('message', (data) => {
    const message = JSON.parse(String(data))
    if (message.kind === 'update') resolve(message)
  })
  client.on('error', reject)
})
client.close()

for (const { child } of [json, screen, collect]) child.kill('SIGINT')
// Its shell waits for the monitor, which ends with tcpdump.
for (const pid of execFileSync('ps', ['-o', 'pid=,comm=', '--ppid', `${pipe.child.pid}`], { encoding: 'utf8' })
  .split('\n')
  .filter((line) => line.includes('tcpdump')))
  process.kill(Number.parseInt(pid, 10), 'SIGINT')
const codes = {
  collect: await collect.ended,
  json: await json.ended,
  screen: await screen.ended,
  pipe: await pipe.ended,
}

const check = JSON.parse(execFileSync(process.execPath, [cli, 'trace', 'check', file, '--json'], { encoding: 'utf8' }))
rmSync(folder, { recursive: true })

const totals = (run) =>
  Object.fromEntries(
    ['roce', 'messages', 'icrc', 'malformed', 'dropped', 'fastPath', 'late'].map((one) => [one, sum(run, one)]),
  )
console.log(
  JSON.stringify({
    ...{ sent, codes, json: totals(json), pipe: totals(pipe) },
    check: { packets: check.packets, icrcValid: check.icrcValid, malformed: check.malformed },
    unplaced: sum(json, 'unplaced'),
    metrics: Number(/^verbena_monitor_messages_total (\d+)$/m.exec(metrics)?.[1]),
    page: update.points.reduce((all, { messages }) => all + messages, 0),
    screen: screen.stdout.split('\u001b[H\u001b[2J').length - 1,
  }),
)
process.exit(0)
