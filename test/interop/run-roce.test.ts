/**
 * Debian's own programs of the verbs, unmodified, under `verbena run` on adapters of a network: within one run, between runs on one
 * address and on two, with programs of ours, and with the kernel's Soft-RoCE in a guest.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { loopbackDevice } from '../loopback.ts'
import { images, judge, outputs, roles, useStage } from './encounter.ts'
import { ours } from './lab/index.ts'
import { has, meet, runOn, serveAndAsk, testMeetings, there, well } from './run-kit.ts'

let port = 31_000 + (process.pid % 1000) * 8
const nextPort = (): number => port++

there('ibv_devinfo sees a port of Ethernet, and GIDs of RoCE v2 with their interface', async () => {
  const info = well(await runOn([loopbackDevice(1), 'shm:run-roce'], 'ibv_devinfo -v'))
  expect(info).toMatch(
    /link_layer:\t+Ethernet[\s\S]*GID\[ +0\]:\t+::ffff:127\.\d+\.\d+\.1, RoCE v2[\s\S]*link_layer:\t+InfiniBand/,
  )
  const root = '/sys/class/infiniband/rxe0/ports/1'
  expect(well(await runOn([loopbackDevice(1)], `cat ${root}/link_layer ${root}/gid_attrs/*/0`))).toBe(
    'Ethernet\nlo\nRoCE v2\n',
  )
})

const programs = [
  ...['ibv_rc_pingpong -g 0 -c', 'ibv_rc_pingpong -g 0 -c -e -s 1048576 -m 4096 -n 20', 'ibv_uc_pingpong -g 0 -n 100'],
  ...['ibv_ud_pingpong -g 0 -s 1024 -n 200', 'ibv_srq_pingpong -g 0 -n 200', 'ib_send_lat -n 200'],
  ...['ib_read_lat -n 200', 'ib_atomic_lat -n 200', 'ib_write_bw -a -n 5', 'ib_read_bw -n 100'],
  ...[
    'ib_atomic_bw -n 200',
    'ib_send_bw -c UD -s 1024 -n 200',
    'ib_send_bw -b -q 4 -n 100',
    'ib_send_bw --use-srq -n 200',
  ],
  'ib_send_lat -e -n 100',
]
for (const program of programs)
  there(`${program}: one run`, async () => {
    const at = nextPort()
    const command = `${program} -p ${at}`
    const stdout = well(await runOn([loopbackDevice(1)], serveAndAsk(command, `${command} 127.0.0.1`, at)))
    expect(stdout).not.toMatch(/invalid data/)
  })

// UCX takes the kind of a datagram's IP header from the service level of its completion, where Soft-RoCE has 0 as well: it would drop
// all of IPv4.
const withUcx = has('ucx_perftest') ? there : it.skip
withUcx('ucx_perftest over rc_verbs', async () => {
  const at = nextPort()
  const ucx = 'UCX_NET_DEVICES=rxe0:1 UCX_TLS=rc_verbs,ud_verbs,self UCX_UD_VERBS_ETH_DGID_CHECK=n'
  const command = `${ucx} ucx_perftest -p ${at} -t tag_lat -s 4096 -n 200`
  const stdout = well(await runOn([loopbackDevice(1)], serveAndAsk(command, `${command} 127.0.0.1`, at)))
  expect(stdout).toMatch(/^Final: +200 /m)
})

testMeetings('on one address', () => [loopbackDevice(1), loopbackDevice(1)], nextPort, ['rc', 'ud'])
testMeetings('on two addresses', () => [loopbackDevice(2), loopbackDevice(3)], nextPort, ['uc', 'srq'])

there('data is right where packets are lost, doubled and reordered, and the tap has them', async () => {
  const at = nextPort()
  const folder = mkdtempSync(join(tmpdir(), 'verbena-run-roce-'))
  try {
    const tap = join(folder, 'packets.pcapng')
    const run = (device: string, more: string[], ...host: string[]): string[] => {
      const program = ['ibv_rc_pingpong', '-g', '0', '-c', '-s', '20000', '-n', '30', '-p', `${at}`, ...host]
      return ['run', '--device', device, '--faults', 'loss=1%,duplication=1%,reordering=1%', ...more, '--', ...program]
    }
    const client = run(loopbackDevice(5), [], 'localhost')
    const printed = await meet(run(loopbackDevice(4), ['--tap', tap]), client, at)
    expect(printed.join('')).not.toMatch(/invalid data/)
    // Twenty packets for each message, of both directions.
    expect(statSync(tap).size).toBeGreaterThan(30 * 2 * 20_000)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

interface CmProgram {
  name: string
  port: number
  common: readonly string[]
  server(address: string): string[]
  client(address: string): string[]
  /** What both ends say when all is well. */
  says: string
  /** Of the link, each way, where ours is the server. */
  delayMs?: number
}

/** Programs that are connected by the RDMA CM. */
const ofCm: readonly CmProgram[] = [
  {
    name: 'rping',
    port: 7174,
    common: ['-v', '-V', '-S', '3000', '-C', '10'],
    server: (address) => ['-s', '-a', address],
    client: (address) => ['-c', '-a', address],
    says: 'ping data: rdma-ping-9',
  },
  {
    name: 'ucmatose',
    port: 7471,
    common: ['-c', '3', '-C', '15', '-S', '9000'],
    server: (address) => ['-b', address],
    client: (address) => ['-s', address],
    says: 'return status 0',
  },
  {
    name: 'rstream',
    port: 7471,
    common: ['-C', '30', '-S', '70000', '-T', 'v'],
    server: (address) => ['-b', address],
    client: (address) => ['-s', address],
    says: '^custom +',
  },
  {
    name: 'ib_send_lat',
    port: 18_515,
    common: ['-R', '-F', '-n', '5', '-s', '20000'],
    server: () => [],
    client: (address) => [address],
    says: '^ *20000 +5 ',
    // The server goes from one port to the next meanwhile: a client that is quicker is rejected, and both wait for ever.
    delayMs: 100,
  },
]

describe.skipIf(images === null)('unmodified programs against Soft-RoCE', () => {
  const tests = ['ibv_rc_pingpong', 'ibv_ud_pingpong', 'ib_write_bw', 'ib_read_bw', 'ib_atomic_bw']
  const stage = useStage([...tests, ...ofCm.map(({ name }) => name)])
  let gidIndex = 0
  beforeAll(async () => {
    gidIndex = await stage().guest.gidIndex(stage().guest.addresses.ipv4)
  })

  for (const program of tests)
    for (const role of roles)
      it(`${program}, under \`verbena run\` the ${role}`, async () => {
        const { guest, lab } = stage()
        const isPingPong = program.startsWith('ibv')
        const gid = isPingPong ? '-g' : '-x'
        const size = program.includes('atomic')
          ? ['-o', '16']
          : program.includes('read')
            ? ['-o', '16', '-s', '20000']
            : ['-s', program.includes('_ud_') ? '1024' : '20000']
        const options = [...(isPingPong ? ['-c'] : ['-F', '-u', '18']), '-n', '50', ...size]
        const mine = ['run', '--device', `roce:${ours.ipv4}`, '--', program, gid, '0', ...options]
        const theirs = [program, '-d', 'rxe0', gid, `${gidIndex}`, ...options]
        if (role === 'client') mine.push(guest.addresses.ipv4)
        else theirs.push(ours.ipv4)
        const played = await stage().play({
          name: `run-${program}-${role}`,
          role,
          mine,
          theirs: theirs.join(' '),
          ready: async () => await (role === 'client' ? guest : lab).listens(18515),
          timeLimitMs: 55_000,
        })
        expect([played.mine.code, played.theirs.code], outputs(played)).toEqual([0, 0])
        // What it prints are no counters of ours.
        judge({ ...played, mine: { ...played.mine, stdout: '' } }, 'ipv4', guest)
      })

  for (const { name, port: cmPort, common, server, client, says, delayMs } of ofCm)
    for (const role of roles)
      it(`${name} ${common.join(' ')}, connected by the RDMA CM, under \`verbena run\` the ${role}`, async () => {
        const { guest, lab } = stage()
        const address = role === 'client' ? guest.addresses.ipv4 : ours.ipv4
        const commands = {
          server: [name, ...common, ...server(address)],
          client: [name, ...common, ...client(address)],
        }
        const theirs = commands[role === 'client' ? 'server' : 'client'].join(' ')
        const played = await stage().play({
          name: `run-cm-${name}-${role}`,
          role,
          mine: ['run', '--device', `roce:${ours.ipv4}`, '--', ...commands[role]],
          // Nobody sees from outside when a program of ours listens: theirs is rejected until then.
          theirs:
            role === 'client'
              ? theirs
              : `until ${theirs} 2>&1 | tee /tmp/said | grep -E '${says}'; do cat /tmp/said; done`,
          ready: async () => await (role === 'client' ? guest.listensCm('TCP', cmPort) : lab.receives(ours.ipv4)),
          impairment: role === 'server' && delayMs !== undefined ? { delayMs } : {},
          timeLimitMs: 55_000,
        })
        expect([played.mine.code, played.theirs.code], outputs(played)).toEqual([0, 0])
        for (const { output } of [played.mine, played.theirs])
          expect(output, outputs(played)).toMatch(new RegExp(says, 'm'))
        judge({ ...played, mine: { ...played.mine, stdout: '' } }, 'ipv4', guest)
      })
})
