/** The interfaces of this host that packets are captured from. */
import { existsSync, readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { readL2 } from '../../collect/index.ts'
import { interfaceIndex, nativeAvailable } from '../../memory/index.ts'
import { UsageError } from '../kit/index.ts'

/** Returns the interfaces that were named, all of them for `any`, else the interfaces of RDMA devices. */
export function interfacesOf(names: string | undefined): string[] {
  if (names === 'any') return everyInterface()
  const { ports, interfaces } = readL2()
  for (const name of names?.split(',') ?? []) checkType(name)
  const all = [...new Set([...interfaces.map(({ name }) => name), ...Object.keys(networkInterfaces())])]
  const asked = names?.split(',').filter((name) => name !== '')
  const unknown = asked?.find((name) => (nativeAvailable ? interfaceIndex(name) === 0 : !all.includes(name)))
  if (unknown !== undefined)
    throw new UsageError('-i', `there is no interface '${unknown}'; there are ${all.join(', ')}`)
  const chosen = asked ?? [...new Set(ports.flatMap(({ netdev }) => netdev ?? []))]
  if (chosen.length > 0) return chosen
  throw new UsageError('-i', `no interface has an RDMA device: name one of ${all.join(', ')}`)
}

const folder = '/sys/class/net'
const isUp = 1

/**
 * Returns the Ethernet interfaces and the loopback interface, as far as they are up. /proc lists those of this network namespace, /sys
 * those of the one in which it was mounted.
 */
function everyInterface(): string[] {
  const names = [...readOr('/proc/net/dev', '').matchAll(/^\s*([^\s:|]+):/gm)].map(([, name]) => name!)
  const all = names.filter((name) => {
    const flags = Number(readOr(`${folder}/${name}/flags`, `${isUp}`))
    return isFramed(typeOf(name)) && (flags & isUp) !== 0
  })
  if (all.length === 0) throw new UsageError('-i', 'any: no Ethernet interface of this host is up')
  return all
}

const arphrdEther = '1'
const arphrdLoopback = '772'

/** Throws unless an interface has Ethernet frames, which the filter and the files require; the loopback interface has them, too. */
function checkType(name: string): void {
  const type = typeOf(name)
  if (!isFramed(type))
    throw new UsageError('-i', `${name} is no Ethernet interface (type ${type}): capture from the interface below it`)
}

function isFramed(type: string): boolean {
  return type === arphrdEther || type === arphrdLoopback
}

function typeOf(name: string): string {
  return readOr(`${folder}/${name.replaceAll('/', '')}/type`, arphrdEther)
}

function readOr(file: string, fallback: string): string {
  return existsSync(file) ? readFileSync(file, 'latin1').trim() : fallback
}
