/** Which interfaces of this host packets come from. */
import { existsSync, readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { readL2 } from '../../collect/index.ts'
import { interfaceIndex, nativeAvailable } from '../../memory/index.ts'
import { UsageError } from '../kit/index.ts'

/** Those that were named, else the interfaces of RDMA devices. */
export function interfacesOf(names: string | undefined): string[] {
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

const arphrdEther = '1'
const arphrdLoopback = '772'

/** The filter and the files are of Ethernet frames, which the loopback interface has as well. */
function checkType(name: string): void {
  const file = `/sys/class/net/${name.replaceAll('/', '')}/type`
  const type = existsSync(file) ? readFileSync(file, 'latin1').trim() : arphrdEther
  if (type !== arphrdEther && type !== arphrdLoopback)
    throw new UsageError('-i', `${name} is no Ethernet interface (type ${type}): capture from the interface below it`)
}
