/** `verbena devinfo`: the output of ibv_devinfo for Verbena's adapters. */
import { type Command, Option } from 'commander'
import { note, paint, print, printJson } from '../../cli/terminal/index.ts'
import { type Context, GidType, getDeviceList, LinkLayer, nameOf, openDevice, PortState } from '../../index.ts'
import { addSynonym, deviceVariable, fullGidText, hexGuid, openAsked, parseInteger, UsageError } from '../kit/index.ts'

export function configure(command: Command): void {
  command
    .description('Show the attributes of adapters, as ibv_devinfo does.')
    .argument('[device]', 'name of an adapter (default: all)')
    .addOption(new Option('-d, --device <dev>', 'the same, as ibv_devinfo takes it (default: all)').env(deviceVariable))
    .option('-i, --ib-port <port>', 'only this port (default: all)')
    .option('-l, --list', 'only the names')
    .option('-v, --verbose', 'all attributes, and the GID and P_Key tables')
    .option('--json', 'print one JSON document with all attributes')
    .addHelpText('after', examples)
  addSynonym(command, '--ib-dev <dev>', 'device').action((named: string | undefined, options: Options) => {
    if (named !== undefined && command.getOptionValueSource('device') === 'cli')
      throw new UsageError('-d', 'names the adapter that the argument names already: give one of them')
    const device = named ?? options.device
    if (options.list) {
      listNames(options.json === true)
      return
    }
    // VERBENA_DEVICE may name the two ends of a benchmark.
    const infos = device ? device.split(',').map((name) => inspect(openAsked('-d', name))) : inspectAll()
    checkPort(options.ibPort, infos)
    if (options.json) printJson({ devices: infos }, plainJson)
    else for (const info of infos) show(info, options.verbose === true)
  })
}

const examples = `
Examples:
  verbena devinfo                      all adapters
  verbena devinfo -d shm0 -v           everything about one
  verbena devinfo -l                   only the names`

interface Options {
  device?: string
  ibPort?: string
  list?: boolean
  verbose?: boolean
  json?: boolean
}

function listNames(json: boolean): void {
  const names = getDeviceList().map(({ name }) => name)
  if (json) printJson({ devices: names.map((name) => ({ name })) })
  else {
    print(`${names.length} HCA${names.length === 1 ? '' : 's'} found:`)
    for (const name of names) print(`    ${name}`)
  }
}

/** Throws for a port that an adapter does not have. Adapters here have one port, which is all that is shown. */
function checkPort(text: string | undefined, infos: readonly DeviceInfo[]): void {
  const port = parseInteger('-i', text, 1, 1, 255)
  for (const { name, device } of infos) {
    if (port > device.physPortCnt) throw new UsageError('-i', `${name} has ${device.physPortCnt} port, not ${port}`)
  }
}

interface DeviceInfo {
  name: string
  device: ReturnType<Context['queryDevice']>
  port: ReturnType<Context['queryPort']>
  gids: string[]
  gidTypes: string[]
  pkeys: string[]
}

/** Inspects all adapters. A named segment may disappear meanwhile: that is noted, and the others are shown. It is not created again. */
function inspectAll(): DeviceInfo[] {
  return getDeviceList().flatMap(({ name }) => {
    try {
      return [inspect(openDevice(name, { existing: true }))]
    } catch (error) {
      note(`${name} cannot be opened: ${(error as Error).message}`)
      return []
    }
  })
}

/** Inspects an adapter and closes it. */
function inspect(context: Context): DeviceInfo {
  try {
    const port = context.queryPort(1)
    return {
      name: context.name,
      device: context.queryDevice(),
      port,
      gids: context.queryGidTable().map(({ gid }) => fullGidText(gid)),
      gidTypes: context.queryGidTable().map(({ gidType }) => gidTypeText(gidType)),
      pkeys: Array.from({ length: port.pkeyTblLen }, (_, index) => `0x${context.queryPkey(1, index).toString(16)}`),
    }
  } finally {
    context.close()
  }
}

function plainJson(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? hexGuid(value) : value
}

function gidTypeText(type: number): string {
  return type === GidType.Ib ? 'IB' : type === GidType.RoceV1 ? 'RoCE v1' : 'RoCE v2'
}

function show({ name, device, port, gids, gidTypes, pkeys }: DeviceInfo, verbose: boolean): void {
  const ethernet = port.linkLayer === LinkLayer.Ethernet
  print(`hca_id: ${paint('bold', name)}`)
  line(1, 'transport', 'InfiniBand (0)')
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
  line(2, 'max_mtu', mtuText(port.maxMtu))
  line(2, 'active_mtu', mtuText(port.activeMtu))
  line(2, 'sm_lid', port.smLid)
  line(2, 'port_lid', port.lid)
  line(2, 'port_lmc', `0x${port.lmc.toString(16).padStart(2, '0')}`)
  line(2, 'link_layer', nameOf(LinkLayer, port.linkLayer))
  if (verbose) {
    const shown = new Set(['state', 'maxMtu', 'activeMtu', 'smLid', 'lid', 'lmc', 'linkLayer'])
    for (const [key, value] of Object.entries(port))
      if (!shown.has(key)) line(2, snake(key), portText(key, value as number))
    for (const [index, gid] of gids.entries()) line(2, `GID[${index}]`, ethernet ? `${gid}, ${gidTypes[index]}` : gid)
    for (const [index, pkey] of pkeys.entries()) line(2, `PKEY[${index}]`, pkey)
  }
  print('')
}

/** Returns the MTU with the code of enum ibv_mtu: 1 for 256 bytes. */
function mtuText(bytes: number): string {
  return `${bytes} (${Math.log2(bytes) - 7})`
}

/** Returns the names that ibv_devinfo prints for widths, speeds and states. */
function portText(key: string, value: number): string {
  const widths: Record<number, string> = { 1: '1X', 2: '4X', 4: '8X', 8: '12X', 16: '2X' }
  const speeds: Record<number, string> = {
    ...{ 1: '2.5 Gbps', 2: '5.0 Gbps', 4: '10.0 Gbps', 8: '10.0 Gbps', 16: '14.0 Gbps', 32: '25.0 Gbps' },
    ...{ 64: '50.0 Gbps', 128: '100.0 Gbps', 256: '200.0 Gbps' },
  }
  const states: Record<number, string> = { 2: 'POLLING', 3: 'DISABLED', 5: 'LINK_UP' }
  const names = { activeWidth: widths, activeSpeed: speeds, physState: states }[key]
  if (key === 'maxMsgSz') return `0x${value.toString(16)}`
  return names?.[value] === undefined ? String(value) : `${names[value]} (${value})`
}

function line(depth: number, key: string, value: string | number): void {
  print(`${'    '.repeat(depth)}${`${key}:`.padEnd(32 - 4 * depth)}${value}`)
}

function snake(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
