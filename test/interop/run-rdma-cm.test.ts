/**
 * Debian's programs of the RDMA CM, unmodified, under `verbena run`: librdmacm's examples, rsockets, perftest with `-R`, libfabric; and
 * programs of the kernel's sockets under librspreload. Both ends below one run, below two on one adapter, and one end a program of ours.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { type Ended, start } from './launchers.ts'

const verbena = new URL('../../dist/verbena.js', import.meta.url).pathname
const has = (program: string): boolean => spawnSync('which', [program]).status === 0
const rxe = existsSync('/etc/libibverbs.d/rxe.driver')
const preload = '/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so'
const folder = mkdtempSync(join(tmpdir(), 'verbena-run-cm-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let runs = 0
const device = (): string => `shm:run-cm-${process.pid}-${++runs}`
/** Runs a command of the shell below a run with an adapter of its own. */
const run = (command: string): Promise<Ended> =>
  start(process.execPath, [verbena, 'run', '--device', device(), '--', 'sh', '-c', command]).ended

/** Nobody sees from outside when a program listens: a client tries until it is not rejected any more. */
const retried = (client: string): string =>
  `for try in $(seq 100); do ${client} > ${folder}/client.$$ 2>&1 && break; kill -0 $server || break; sleep 0.05; done; cat ${folder}/client.$$`

/** Server and client, which both end by themselves; the exit code is the server's. */
const both = (server: string, client: string): Promise<Ended> =>
  run(`${server} & server=$!; ${retried(client)}; wait $server`)
/** The same of a server that goes on. */
const serving = (server: string, client: string): Promise<Ended> =>
  run(`${server} > /dev/null 2>&1 & server=$!; ${retried(client)}; kill $server; wait; true`)

const well = ({ code, stdout, stderr }: Ended): string => {
  expect({ code }, `${stdout}${stderr}`).toEqual({ code: 0 })
  return stdout
}

let nextPort = 23_000 + (process.pid % 1000) * 8
const needs = (...programs: string[]): typeof test => {
  const lacking = programs.filter((program) => !has(program))
  if (!rxe) lacking.push("Debian's ibverbs-providers")
  if (lacking.length > 0) console.warn(`skipped: ${lacking.join(', ')} missing`)
  return (lacking.length > 0 ? test.skip : test) as typeof test
}

const ping = /ping data: rdma-ping-9: JKLMNOPQ/
needs('rping')('rping -V: every byte of ten rounds', async () => {
  const port = nextPort++
  const [server, client] = [
    `rping -s -v -a 127.0.0.1 -C 10 -V -p ${port}`,
    `rping -c -v -a 127.0.0.1 -C 10 -V -p ${port}`,
  ]
  const stdout = well(await both(server, client))
  expect(stdout.match(/^ping data: rdma-ping-9: JKLMNOPQ/m)).not.toBeNull()
  expect(stdout.match(/^server ping data: rdma-ping-9: JKLMNOPQ/m)).not.toBeNull()
})

needs('rping')('rping without a server is rejected', async () => {
  const { code, stderr } = await run(`rping -c -a 127.0.0.1 -C 1 -p ${nextPort++}`)
  expect(code).not.toBe(0)
  expect(stderr).toMatch(/cma event RDMA_CM_EVENT_REJECTED, error 8/)
})

const pairs: readonly [name: string, server: string, client: string, says: RegExp][] = [
  ['ucmatose', 'ucmatose -c 4 -p PORT', 'ucmatose -c 4 -s 127.0.0.1 -p PORT', /return status 0/],
  ['udaddy', 'udaddy', 'udaddy -s 127.0.0.1', /return status 0/],
  ['rdma_server', 'rdma_server -p PORT', 'rdma_client -s 127.0.0.1 -p PORT', /rdma_client: end 0/],
  ['rdma_xserver', 'rdma_xserver -p PORT', 'rdma_xclient -s 127.0.0.1 -p PORT', /rdma_xclient: end 0/],
  [
    'rstream',
    'rstream -S 4096 -I 2 -C 100 -p PORT',
    'rstream -s 127.0.0.1 -S 4096 -I 2 -C 100 -p PORT',
    /^custom +4k/m,
  ],
  [
    'riostream',
    'riostream -S 64 -I 2 -C 50 -p PORT',
    'riostream -s 127.0.0.1 -S 64 -I 2 -C 50 -p PORT',
    /^custom +64/m,
  ],
  ['ib_send_lat', 'ib_send_lat -R -n 100 -p PORT', 'ib_send_lat -R -n 100 -p PORT 127.0.0.1', /^ *2 +100 /m],
  ['ib_write_bw', 'ib_write_bw -R -n 100 -p PORT', 'ib_write_bw -R -n 100 -p PORT 127.0.0.1', /^ *65536 +100 /m],
  [
    'fi_pingpong',
    'fi_pingpong -p verbs -I 20 -S 64 -B PORT',
    'fi_pingpong -p verbs -I 20 -S 64 -P PORT 127.0.0.1',
    /^64 +20/m,
  ],
  [
    'fi_pingpong over ofi_rxm',
    `env FI_UNIVERSE_SIZE=16 fi_pingpong -e rdm -p 'verbs;ofi_rxm' -I 20 -S 64 -B PORT`,
    `env FI_UNIVERSE_SIZE=16 fi_pingpong -e rdm -p 'verbs;ofi_rxm' -I 20 -S 64 -P PORT 127.0.0.1`,
    /^64 +20/m,
  ],
]
for (const [name, server, client, says] of pairs)
  needs(name.split(' ')[0]!)(`${name}`, async () => {
    const port = String(nextPort++)
    expect(well(await both(server.replace('PORT', port), client.replace('PORT', port)))).toMatch(says)
  })

needs('python3')('a program of Python that waits for an event ends by Ctrl-C', async () => {
  const script = `
import ctypes, os, signal, threading
cm = ctypes.CDLL('librdmacm.so.1', use_errno=True)
cm.rdma_create_event_channel.restype = ctypes.c_void_p
channel, event = ctypes.c_void_p(cm.rdma_create_event_channel()), ctypes.c_void_p()
main = open('/proc/self/wchan')
def interrupt():
    while 'pipe' not in main.read(): main.seek(0)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
try:
    print(cm.rdma_get_cm_event(channel, ctypes.byref(event)))
except KeyboardInterrupt:
    print('interrupted')`
  const { code, stdout } = await run(`python3 -c "${script}"`)
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'interrupted\n' })
})

needs('cmtime')('cmtime: twenty connections at once', async () => {
  const port = nextPort++
  const stdout = well(await serving(`cmtime -b 127.0.0.1 -c 20 -p ${port}`, `cmtime -s 127.0.0.1 -c 20 -p ${port}`))
  expect(stdout).toMatch(/^connect +:/m)
})

needs('udpong')('udpong', async () => {
  const port = nextPort++
  const client = `udpong -s 127.0.0.1 -S 64 -C 10 -p ${port}`
  expect(well(await serving(`udpong -b 127.0.0.1 -S 64 -C 10 -p ${port}`, client))).toMatch(/^custom +64 +10/m)
})

needs('rcopy')('rcopy: the file is the same', async () => {
  const file = join(folder, 'copied')
  const stdout = well(
    await serving(
      'rcopy',
      `rcopy ${verbena} 127.0.0.1:${file} && for i in $(seq 40); do cmp -s ${verbena} ${file} && break; sleep 0.05; done; cmp ${verbena} ${file} && echo same`,
    ),
  )
  expect(stdout).toMatch(/^same$/m)
})

needs('mckey', 'stdbuf')('mckey: two members of a group', async () => {
  const member = 'mckey -m 239.1.1.1 -b 127.0.0.1'
  const stdout = well(
    await run(`
      stdbuf -oL ${member} > ${folder}/mckey & server=$!
      until grep -q 'receiving data' ${folder}/mckey; do kill -0 $server || exit 9; sleep 0.05; done
      ${member} -s || exit 8
      wait $server && cat ${folder}/mckey`),
  )
  expect(stdout.match(/return status 0/g)).toHaveLength(2)
})

needs('mckey', 'stdbuf')('mckey: two members of a group, in two runs', async () => {
  const inRun = `${process.execPath} ${verbena} run --device ${device()} --`
  const member = 'mckey -m 239.1.1.1 -b 127.0.0.1'
  // A datagram may be lost where the other run has to wait for a processor.
  const script = `
    ${inRun} stdbuf -oL ${member} > ${folder}/far & server=$!
    until grep -q 'receiving data' ${folder}/far; do kill -0 $server || exit 9; sleep 0.05; done
    while kill -0 $server 2> /dev/null; do ${inRun} ${member} -s > /dev/null || exit 8; sleep 0.1; done
    wait $server && cat ${folder}/far`
  expect(well(await start('sh', ['-c', script]).ended)).toContain('return status 0')
})

needs('netperf', 'netserver')('netperf under librspreload', async () => {
  const port = nextPort++
  const stdout = well(
    await serving(
      `env LD_PRELOAD=${preload} netserver -D -f -4 -L 127.0.0.1 -p ${port}`,
      `env LD_PRELOAD=${preload} netperf -H 127.0.0.1 -4 -l 1 -p ${port} -t TCP_RR -P 0`,
    ),
  )
  expect(stdout).toMatch(/^\d+ +\d+ +1 +1 +1\.\d+ +\d+/m)
})

needs('nc')('nc under librspreload', async () => {
  const port = nextPort++
  const received = join(folder, 'nc')
  const command = `
    export LD_PRELOAD=${preload}
    nc -l -p ${port} > ${received} & server=$!
    for try in $(seq 100); do echo over rsockets | timeout 1 nc 127.0.0.1 ${port}; grep -q rsockets ${received} && break; sleep 0.05; done
    kill $server; cat ${received}`
  expect((await run(command)).stdout).toMatch(/^over rsockets$/m)
})

needs('rping')('a client that is killed: its server is told', async () => {
  const port = nextPort++
  const { stderr } = await run(`
    rping -s -a 127.0.0.1 -p ${port} & server=$!
    for try in $(seq 100); do rping -c -a 127.0.0.1 -C 1 -p ${port} > /dev/null 2>&1 && break; kill -0 $server || break; sleep 0.05; done
    wait $server
    rping -s -a 127.0.0.1 -p ${port} & server=$!
    sleep 0.3; rping -c -a 127.0.0.1 -p ${port} & client=$!
    sleep 0.5; kill -9 $client; wait $server`)
  expect(stderr.match(/server DISCONNECT EVENT/g)).toHaveLength(2)
})

const unmodified = (adapter: string, ...args: string[]): string[] => [
  'run',
  '--device',
  adapter,
  '--',
  'rping',
  ...args,
]
const ours = (adapter: string, ...args: string[]): string[] => ['rping', '--device', adapter, ...args]
for (const [title, server, client] of [
  ['two runs on one adapter', unmodified, unmodified],
  ['ours is the client', unmodified, ours],
  ['ours is the server', ours, unmodified],
] as const)
  needs('rping')(`rping, ${title}`, async () => {
    const adapter = device()
    const port = String(nextPort++)
    const served = start(process.execPath, [verbena, ...server(adapter, '-s', '-v', '-C', '10', '-p', port)]).ended
    let asked: Ended
    do
      asked = await start(process.execPath, [
        verbena,
        ...client(adapter, '-c', '-a', '127.0.0.1', '-v', '-V', '-C', '10', '-p', port),
      ]).ended
    while (asked.code !== 0)
    expect(asked.stdout).toMatch(ping)
    expect(well(await served)).toMatch(ping)
  })
