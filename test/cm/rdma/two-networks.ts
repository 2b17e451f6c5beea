/**
 * A host with two networks, and what is behind them, each in a network namespace of its own:
 *
 *     host    a0 10.1.0.1 fd01::1 fe80::a0  ───────  a1 10.1.0.2 fd01::2 fe80::a1    there
 *             b0 10.2.0.1 fd02::1 fe80::b0  ───────  b1 10.2.0.2 fd02::2 fe80::b1    and 10.3.0.5 to 10.6.0.5, fd03::5, fd04::5 behind it
 *             lo 10.9.9.9
 *
 * The default route leads over b0; a rule sends what is for 10.4/16 over a0; 10.5/16 has a preferred source, on lo; 10.6/16 is
 * unreachable. A program that runs here prints one JSON document.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { nativeAvailable } from '../../../src/memory/index.ts'

const setUp = `
set -e
ip link set lo up
for n in a b; do ip link add \${n}0 address 02:00:00:00:0\${n}:00 type veth peer name \${n}1 address 02:00:00:00:0\${n}:01; done
# Ends with this shell, whose end closes its input.
mkfifo $D/alive
unshare -n sh -c "echo > $D/born; exec cat $D/alive" &
exec 9> $D/alive
P=$!
N="nsenter -t $P -n"
while [ ! -e $D/born ]; do sleep 0.01; done
for n in a b; do ip link set \${n}1 netns $P; done
$N sh -ec '
  ip link set lo up
  ip link add c0 type veth peer name c1
  for n in a1 b1 c0 c1; do ip link set $n addrgenmode none; ip link set $n up; done
  ip addr add 10.1.0.2/24 dev a1; ip addr add 10.2.0.2/24 dev b1
  ip -6 addr add fd01::2/64 dev a1 nodad; ip -6 addr add fd02::2/64 dev b1 nodad
  ip -6 addr add fe80::a1/64 dev a1 nodad; ip -6 addr add fe80::b1/64 dev b1 nodad
  for i in 3 4 5 6; do ip addr add 10.$i.0.5/24 dev c0; done
  for i in 3 4; do ip -6 addr add fd0$i::5/64 dev c0 nodad; done
  ip route add 10.9.9.9 via 10.2.0.1
'
for n in a0 b0; do ip link set $n addrgenmode none; ip link set $n up; done
ip addr add 10.1.0.1/24 dev a0; ip addr add 10.2.0.1/24 dev b0; ip addr add 10.9.9.9/32 dev lo
ip -6 addr add fd01::1/64 dev a0 nodad; ip -6 addr add fd02::1/64 dev b0 nodad
ip -6 addr add fe80::a0/64 dev a0 nodad; ip -6 addr add fe80::b0/64 dev b0 nodad
ip route add default via 10.2.0.2
ip route add default via 10.1.0.2 table 100
ip rule add to 10.4.0.0/16 lookup 100
ip route add 10.5.0.0/16 via 10.2.0.2 src 10.9.9.9
ip route add unreachable 10.6.0.0/16
ip -6 route add fd03::/64 via fd02::2
ip -6 route add fd04::/64 via fd01::2
`

/** Why such networks cannot be made here; empty if they can. */
export const missing: string = (() => {
  if (!nativeAvailable) return 'needs koffi'
  try {
    execFileSync('unshare', ['-n', 'sh', '-c', 'ip link add v0 type veth peer name v1'], { stdio: 'pipe' })
    return ''
  } catch {
    return 'needs root, unshare and ip'
  }
})()

const program = (name: string): string => fileURLToPath(new URL(`./${name}`, import.meta.url))

/** Runs one program of this folder on the other side, which prints `up` when it is ready, and one on the host; what that prints. */
export function onTwoNetworks(there: string, here: string, env: Readonly<Record<string, string>> = {}): unknown {
  const script = `${setUp}
$N "$NODE" ${JSON.stringify(program(there))} > $D/there &
S=$!
while ! grep -q up $D/there; do kill -0 $S; sleep 0.05; done
set +e
"$NODE" ${JSON.stringify(program(here))}
R=$?
kill $S
exit $R`
  const { stdout, stderr, status } = spawnSync(
    'unshare',
    ['-n', 'sh', '-c', `D=$(mktemp -d); trap 'rm -r $D' EXIT; ${script}`],
    { encoding: 'utf8', env: { ...process.env, NODE: process.execPath, ...env }, timeout: 110_000 },
  )
  if (status !== 0) throw new Error(`status ${status}\n${stderr}\n${stdout}`)
  return JSON.parse(stdout)
}
