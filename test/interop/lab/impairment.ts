/**
 * What a guest's link does to RoCE packets, by netem in the guest: to those that leave in a queue of eth0, to those that
 * arrive in one of ifb0, to which they are sent on a detour. Other packets pass untouched, so that TCP between the
 * programs does not make tests slow, and so that the numbers of dropped packets are those of RoCE packets.
 */

export interface Impairment {
  /** Percent of packets, in each direction. */
  lossPercent?: number
  duplicatePercent?: number
  /** Packets wait so long, … */
  delayMs?: number
  /** … but so many percent of them leave at once: they overtake those that wait. Needs a delay. */
  reorderPercent?: number
}

function netemArguments({ lossPercent, duplicatePercent, delayMs, reorderPercent }: Impairment): string {
  const parts = ['limit 100000']
  if (delayMs) parts.push(`delay ${delayMs}ms`)
  if (reorderPercent) parts.push(`reorder ${reorderPercent}%`)
  if (lossPercent) parts.push(`loss ${lossPercent}%`)
  if (duplicatePercent) parts.push(`duplicate ${duplicatePercent}%`)
  return parts.join(' ')
}

/** The commands that set it up in a guest whose link is untouched. */
export function impairCommands(impairment: Impairment): string {
  const netem = netemArguments(impairment)
  // Where the destination port of UDP is, behind an IPv4 header of 20 bytes and behind one of IPv6.
  const roce = ['ip protocol 17 0xff match ip dport 4791 0xffff', 'ip6 protocol 17 0xff match ip6 dport 4791 0xffff']
  const band = (device: string): string[] => [
    `tc qdisc add dev ${device} root handle 1: prio bands 4 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0`,
    `tc qdisc add dev ${device} parent 1:4 handle 4: netem ${netem}`,
  ]
  return [
    'set -e',
    'modprobe -a sch_netem sch_prio sch_ingress cls_u32 act_mirred',
    '[ -e /sys/class/net/ifb0 ] || modprobe ifb numifbs=1',
    // It would send packets of its own, to find neighbours and routers, and netem would count those that it drops.
    'echo 1 > /proc/sys/net/ipv6/conf/ifb0/disable_ipv6',
    'ip link set ifb0 mtu "$(cat /sys/class/net/eth0/mtu)" up',
    ...band('eth0'),
    `tc qdisc add dev ifb0 root handle 4: netem ${netem}`,
    'tc qdisc add dev eth0 handle ffff: ingress',
    ...roce.flatMap((match, i) => {
      const protocol = i === 0 ? 'ip' : 'ipv6'
      const filter = `protocol ${protocol} prio ${i + 1} u32 match ${match}`
      return [
        `tc filter add dev eth0 parent 1: ${filter} flowid 1:4`,
        `tc filter add dev eth0 parent ffff: ${filter} action mirred egress redirect dev ifb0`,
      ]
    }),
  ].join('\n')
}

/** Packets that the netem queue in the output of `tc -s qdisc` has dropped. */
export function parseDrops(output: string): number {
  const netem = output.slice(output.indexOf('qdisc netem'))
  return Number(/dropped (\d+)/.exec(netem)?.[1] ?? Number.NaN)
}
