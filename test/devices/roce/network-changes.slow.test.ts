/** Ports and GIDs follow the host's links and addresses, in all processes that share a device; in a network namespace of its own. */
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/memory/index.ts'

// Without IPv6, which begins anew, with addresses of its own, when an MTU was too small for it.
const setUp = `echo 1 2> /dev/null > /proc/sys/net/ipv6/conf/all/disable_ipv6
  ip link set lo up && ip link add v0 type veth peer name v1 && for n in v0 v1; do ip link set $n addrgenmode none up; done
  ip addr add 10.97.0.1/24 dev v0`
const run = (script: string, env: NodeJS.ProcessEnv = {}) =>
  spawnSync('unshare', ['-n', 'sh', '-c', script], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
    timeout: 110_000,
  })
const missing = nativeAvailable && run(setUp).status === 0 ? '' : 'needs koffi, root, unshare and ip'

interface Seen {
  state: string
  physState: number
  activeMtu: number
  gids: string[]
}
const seen = (state: string, physState: number, activeMtu: number, ...gids: string[]): Seen => ({
  state,
  physState,
  activeMtu,
  gids,
})
const own = '0 10.97.0.1'
const another = '1 10.98.0.1'

interface Step {
  name: string
  command: string
  now: Seen
  heard: string[]
}

const links: Step[] = [
  { name: 'at the beginning', command: '', now: seen('Active', 5, 1024, own), heard: [] },
  { name: 'no carrier', command: 'ip link set v1 down', now: seen('Down', 2, 1024, own), heard: ['PortErr 1'] },
  { name: 'a carrier', command: 'ip link set v1 up', now: seen('Active', 5, 1024, own), heard: ['PortActive 1'] },
  { name: 'a larger MTU', command: 'ip link set v0 mtu 9000', now: seen('Active', 5, 4096, own), heard: [] },
  { name: 'a smaller MTU', command: 'ip link set v0 mtu 600', now: seen('Active', 5, 512, own), heard: [] },
  { name: 'the usual MTU', command: 'ip link set v0 mtu 1500', now: seen('Active', 5, 1024, own), heard: [] },
]
const [add, remove] = ['add', 'del'].map((change) => `ip addr ${change} 10.97.0.1/24 dev v0`) as [string, string]
const gidChange = ['GidChange 1']
const ofOne: Step[] = [
  ...links,
  { name: 'no address', command: remove, now: seen('Active', 5, 1024), heard: gidChange },
  { name: 'an address', command: add, now: seen('Active', 5, 1024, own), heard: gidChange },
]
const ofAll: Step[] = [
  ...links,
  {
    name: 'one more address',
    command: 'ip addr add 10.98.0.1/24 dev v1',
    now: seen('Active', 5, 1024, own, another),
    heard: gidChange,
  },
  { name: 'one less', command: remove, now: seen('Active', 5, 1024, another), heard: gidChange },
  { name: 'which comes again', command: add, now: seen('Active', 5, 1024, own, another), heard: gidChange },
  {
    name: 'an address whose port another program has, and a larger MTU',
    command: `echo 1 > /proc/sys/net/ipv4/ip_nonlocal_bind
      "$NODE" -e "$HOLDER" > /dev/null 2>&1 & echo $! > "$HOLDER_PID"
      until grep -q "$HELD" /proc/net/udp; do sleep 0.05; done
      ip addr add 10.99.0.1/24 dev v1 && ip link set v0 mtu 9000`,
    now: seen('Active', 5, 4096, own, another),
    heard: [],
  },
  {
    name: 'one more address, and that port',
    command: `kill "$(cat "$HOLDER_PID")"
      while grep -q "$HELD" /proc/net/udp; do sleep 0.05; done
      ip addr add 10.100.0.1/24 dev v1`,
    now: seen('Active', 5, 4096, own, another, '2 10.99.0.1', '3 10.100.0.1'),
    heard: gidChange,
  },
]
/** A program that has the port of an address, and that as /proc shows it. */
const holder = {
  HOLDER:
    "require('node:dgram').createSocket('udp4').bind(4791, '10.99.0.1'); setTimeout(() => process.exit(), 100_000)",
  HELD: '0100630A:12B7',
  HOLDER_PID: join(tmpdir(), `verbena-holder-${process.pid}`),
}
afterAll(() => rmSync(holder.HOLDER_PID, { force: true }))

it.skipIf(missing !== '').each([
  ['roce:10.97.0.1', ofOne],
  ['roce', ofAll],
])(
  `%s: PORT_ERR, PORT_ACTIVE, GID_CHANGE, and what queries say${missing && ` (skipped: ${missing})`}`,
  (device, steps) => {
    const program = fileURLToPath(new URL('./network-changes.mjs', import.meta.url))
    const { stdout, stderr, status } = run(`${setUp} && exec "$NODE" "$PROGRAM"`, {
      NODE: process.execPath,
      PROGRAM: program,
      DEVICE: device,
      ...holder,
      STEPS: JSON.stringify(steps),
    })
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 })
    const wanted = steps.map(({ name, now, heard }) => ({ name, here: { now, heard }, there: { now, heard } }))
    expect(JSON.parse(stdout)).toEqual(wanted)
  },
  120_000,
)
