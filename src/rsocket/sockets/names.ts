/** Addresses as sockets give them. */
import type { CmSocketAddress } from '../../cm/index.ts'
import type { SocketAddress } from './types.ts'

export function named({ address, port, family }: CmSocketAddress): Required<SocketAddress> {
  return { address, port, family: family === 6 ? 'IPv6' : 'IPv4' }
}
