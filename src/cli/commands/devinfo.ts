/** `verbena devinfo`: what ibv_devinfo shows, of Verbena's adapters. */
import type { Command } from 'commander'
import { type Context, getDeviceList, LinkLayer, nameOf, openDevice, PortState } from '../../index.ts'
import { gidText, hexGuid } from '../hex.ts'
import { note, paint, print } from '../output.ts'

export function configure(command: Command): void {
  command
    .description('Show what adapters can do, as ibv_devinfo does.')
    .argument('[device]', 'name of an adapter (default: all)')
    .option('-v, --verbose', 'all attributes, and the GID and P_Key tables')
    .option('--json', 'print one JSON document with all attributes')
    .action((device: string | undefined, options: { verbose?: boolean; json?: boolean }) => {
      const infos = device === undefined ? inspectAll() : [inspect(device)]
      if (options.json) process.stdout.write(`${JSON.stringify({ devices: infos }, plainJson)}\n`)
      else for (const info of infos) show(info, options.verbose === true)
    })
}

interface DeviceInfo {
  name: string
  device: ReturnType<Context['queryDevice']>
  port: ReturnType<Context['queryPort']>
  gids: string[]
  pkeys: string[]
}

/** A named segment may go away, or belong to another version, while it is looked at: that is said, and the others shown. */
function inspectAll(): DeviceInfo[] {
  return getDeviceList().flatMap(({ name }) => {
    try {
      return [inspect(name)]
    } catch (error) {
      note(`${name} cannot be opened: ${(error as Error).message}`)
      return []
    }
  })
}

function inspect(name: string): DeviceInfo {
  const context = openDevice(name)
  try {
    const port = context.queryPort(1)
    return {
      name,
      device: context.queryDevice(),
      port,
      gids: context.queryGidTable().map(({ gid }) => gidText(gid)),
      pkeys: Array.from({ length: port.pkeyTblLen }, (_, index) => `0x${context.queryPkey(1, index).toString(16)}`),
    }
  } finally {
    context.close()
  }
}

function plainJson(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? hexGuid(value) : value
}

function show({ name, device, port, gids, pkeys }: DeviceInfo, verbose: boolean): void {
  print(`device: ${paint('bold', name)}`)
  line(1, 'fw_ver', device.fwVer)
  line(1, 'node_guid', hexGuid(device.nodeGuid))
  line(1, 'sys_image_guid', hexGuid(device.sysImageGuid))
  line(1, 'vendor_id', `0x${device.vendorId.toString(16).padStart(4, '0')}`)
  line(1, 'vendor_part_id', device.vendorPartId)
  line(1, 'hw_ver', `0x${device.hwVer.toString(16)}`)
  line(1, 'phys_port_cnt', device.physPortCnt)
  if (verbose) {
    const shown = new Set(['fwVer', 'nodeGuid', 'sysImageGuid', 'vendorId', 'vendorPartId', 'hwVer', 'physPortCnt'])
    for (const [key, value] of Object.entries(device)) {
      if (!shown.has(key))
        line(
          1,
          snake(key),
          /flags|Cap$/i.test(key) && typeof value === 'number' ? `0x${value.toString(16)}` : String(value),
        )
    }
  }
  print('    port: 1')
  line(2, 'state', `PORT_${nameOf(PortState, port.state).toUpperCase()} (${port.state})`)
  line(2, 'max_mtu', port.maxMtu)
  line(2, 'active_mtu', port.activeMtu)
  line(2, 'sm_lid', port.smLid)
  line(2, 'port_lid', port.lid)
  line(2, 'port_lmc', `0x${port.lmc.toString(16).padStart(2, '0')}`)
  line(2, 'link_layer', nameOf(LinkLayer, port.linkLayer))
  if (verbose) {
    const shown = new Set(['state', 'maxMtu', 'activeMtu', 'smLid', 'lid', 'lmc', 'linkLayer'])
    for (const [key, value] of Object.entries(port)) if (!shown.has(key)) line(2, snake(key), String(value))
    for (const [index, gid] of gids.entries()) line(2, `GID[${index}]`, gid)
    for (const [index, pkey] of pkeys.entries()) line(2, `PKEY[${index}]`, pkey)
  }
  print('')
}

function line(depth: number, key: string, value: string | number): void {
  print(`${'    '.repeat(depth)}${`${key}:`.padEnd(32 - 4 * depth)}${value}`)
}

function snake(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
