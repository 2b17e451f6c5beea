/** Names and addresses of UDP sockets, of one family for both ends. */
import { lookup } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { GatewayError, type NodeContext } from '../../index.ts'
import { type Address, describeAddress } from '../kit/settings.ts'
import type { Multicast, SocketSettings } from './settings.ts'

export interface Resolved {
  readonly family: 4 | 6
  readonly local: Address
  readonly remote: Address | undefined
}

/** Resolves both ends; without a local one it is any free port. Throws a `GatewayError`. */
export async function resolve(context: NodeContext, { local, remote, multicast }: SocketSettings): Promise<Resolved> {
  const far = await resolved(remote as Address | undefined, 0)
  const near = await resolved(local as Address | undefined, far?.family ?? (multicast ? 4 : 0))
  const family = near?.family ?? far?.family ?? 4
  if (near && far && near.family !== far.family)
    throw fault(`in.address is IPv${near.family} and out.address is IPv${far.family}: both have to be of one family`)
  if (multicast && family === 6) throw fault('multicast needs IPv4 addresses')
  const any = { host: family === 4 ? '0.0.0.0' : '::', port: 0 }
  const { host } = near ?? any
  if (multicast && host !== '0.0.0.0' && host !== multicast.group)
    context.log(
      'warn',
      `in.address is ${host}: what is sent to the group ${multicast.group} does not arrive there. Use "*:${near?.port}"`,
    )
  return { family, local: near ?? any, remote: far }
}

async function resolved(
  address: Address | undefined,
  family: 0 | 4 | 6,
): Promise<(Address & { family: 4 | 6 }) | undefined> {
  if (address === undefined) return undefined
  if (address.host === '*') return { host: family === 6 ? '::' : '0.0.0.0', port: address.port, family: family || 4 }
  try {
    const found = await lookup(address.host, { family })
    return { host: found.address, port: address.port, family: found.family as 4 | 6 }
  } catch (error) {
    throw fault(`${describeAddress(address)} is not known: ${(error as Error).message}`)
  }
}

export function fault(what: string): GatewayError {
  return new GatewayError('ERR_GATEWAY_NODE', what)
}

/** Returns the index of the interface that has the address of `multicast.interface`; 0: the system chooses. */
export function interfaceIndex(multicast: Multicast): number {
  if (multicast.interface === '') return 0
  for (const [name, addresses] of Object.entries(networkInterfaces()))
    if (addresses?.some(({ address }) => address === multicast.interface))
      return Number(readFileSync(`/sys/class/net/${name}/ifindex`, 'utf8'))
  throw fault(`multicast.interface: no interface has the address ${multicast.interface}: 'ip address' lists them`)
}
