/** `verbena collect l2` */
import type { Command } from 'commander'
import { endWith, exitCodes, note, paint, print, table } from '../../cli/terminal/index.ts'
import { exactJson, type L2Interface, type L2Port, type L2Reading, readL2 } from '../../collect/index.ts'
import { UsageError } from '../kit/index.ts'
import { noteProblems, readsTree, rootOf } from './source.ts'

const help = `
The command shows RDMA ports with their GIDs and interfaces, then all Ethernet interfaces (Verbena's roce devices and Soft-RoCE run on
any of them), then the consequences of their settings for RoCE. PFC, traffic classes and the map of DSCP to priority are read from the
kernel (dcbnl); some adapters keep them in firmware and show them to their own tools only, which is reported.
PATH MTU is the maximum that the MTU allows: the MTU minus 96 bytes of headers, as the kernel computes it.

Exit code 1 if no RDMA port and no Ethernet interface was found.

Examples:
  verbena collect l2
  verbena collect l2 mlx5_0
  verbena collect l2 eth0 --json
  verbena collect l2 --sysfs-root /tmp/recorded`

export function configure(command: Command): void {
  readsTree(command)
    .description(
      'Show the ports and interfaces of this host that carry RoCE v1 and v2, and the consequences of their settings.',
    )
    .argument('[names...]', 'RDMA devices or network interfaces (default: all)')
    .option('--json', 'print one JSON document')
    .addHelpText('after', help)
    .action((names: string[], options: { json?: boolean; sysfsRoot?: string }) => {
      const reading = readL2({ names, ...rootOf(options.sysfsRoot) })
      const { ports, interfaces, unread, problems } = reading
      const unknown = names.find(
        (name) => !ports.some(({ device }) => device === name) && !interfaces.some((one) => one.name === name),
      )
      if (unknown !== undefined)
        throw new UsageError(unknown, 'is no RDMA device and no Ethernet interface (`verbena collect l2` shows them)')
      if (options.json) print(exactJson(plain(reading)))
      else {
        show(reading)
        for (const text of unread) note(`Not read: ${text}`)
      }
      noteProblems(problems)
      const found = ports.length + interfaces.length > 0
      if (!found) note('There is no RDMA port and no Ethernet interface.')
      endWith(found ? exitCodes.done : exitCodes.failed)
    })
}

/** Returns maps as objects. */
function plain({ interfaces, ...rest }: L2Reading): object {
  return {
    ...rest,
    interfaces: interfaces.map(({ dcb, ...one }) => ({
      ...one,
      dcb: dcb === undefined ? undefined : { ...dcb, dscp: Object.fromEntries(dcb.dscp) },
    })),
  }
}

function show({ ports, interfaces, tcpEcn, findings }: L2Reading): void {
  if (ports.length > 0)
    print(table(['RDMA port', 'driver', 'link layer', 'state', 'rate', 'interface'], ports.map(portRow)))
  const gids = ports.flatMap(gidRows)
  if (gids.length > 0) print(`\n${table(['GID of', 'index', 'GID', 'type', 'interface'], gids)}`)
  if (interfaces.length > 0) {
    const head = ['interface', 'state', 'MTU', 'path MTU', 'Gbit/s', 'VLAN', 'PFC', 'trusts', 'RDMA', 'addresses']
    print(`${ports.length > 0 ? '\n' : ''}${table(head, interfaces.map(interfaceRow))}`)
  }
  if (tcpEcn !== undefined)
    print(`\nECN of TCP (net.ipv4.tcp_ecn): ${tcpEcn}. RoCE has its own, DCQCN, in the adapter.`)
  if (findings.length > 0) print('')
  for (const { level, of, text } of findings)
    print(`${level === 'warning' ? paint('yellow', 'warning') : 'info   '}  ${of}: ${text}`)
}

function portRow({ device, port, driver, linkLayer, state, rate, netdev }: L2Port): string[] {
  return [`${device}/${port}`, driver ?? '', linkLayer ?? '', state?.name ?? '', rate ?? '', netdev ?? '']
}

function gidRows({ device, port, gids }: L2Port): string[][] {
  return gids.map(({ index, gid, type, netdev }) => [
    `${device}/${port}`,
    String(index),
    shortGid(gid),
    type ?? '',
    netdev ?? '',
  ])
}

/** Returns GIDs that map an IPv4 address as ::ffff:a.b.c.d, as the RDMA tools do. */
function shortGid(gid: string): string {
  const [, high, low] = /^(?:0000:){5}ffff:([0-9a-f]{4}):([0-9a-f]{4})$/.exec(gid) ?? []
  if (high === undefined) return gid
  const bytes = [high, low!]
    .flatMap((word) => [word.slice(0, 2), word.slice(2)])
    .map((byte) => Number.parseInt(byte, 16))
  return `::ffff:${bytes.join('.')}`
}

function interfaceRow(one: L2Interface): string[] {
  const { name, state, mtu, pathMtu, speed, vlan, dcb, ofedTrust, rdma, addresses } = one
  const on = dcb?.pfc?.flatMap((enabled, priority) => (enabled ? [priority] : []))
  const pfc = on === undefined ? '' : on.length === 0 ? 'off' : on.join(',')
  const gigabits = speed === undefined || speed <= 0 ? '' : String(speed / 1000)
  const tag = vlan === undefined ? '' : `${vlan.id}${vlan.parent === undefined ? '' : ` on ${vlan.parent}`}`
  const trust = dcb?.trust?.join(',') ?? ofedTrust ?? ''
  const cells = [name, state ?? '', mtu === undefined ? '' : String(mtu), pathMtu === undefined ? '' : String(pathMtu)]
  return [...cells, gigabits, tag, pfc, trust, rdma.join(' '), addresses.join(' ')]
}
