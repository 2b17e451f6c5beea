/** Who waits and who wakes: what the sockets of a thread share of a device, the event loop, blocking calls, UDP. */
import './system-errno.ts'

export { Adapter, type Line } from './adapter.ts'
export { addressBytes, addressError, familyName, named, notAnAddress, type SocketAddress } from './address.ts'
export { type CmOwner, Hub } from './hub.ts'
export { forget, heat, type Member } from './loop.ts'
export { type Carrier, keepTrunk, Route } from './sharing.ts'
export { connectionParam, Stream } from './stream.ts'
export { type UdpOwner, UdpService } from './udp-service.ts'
export { Patience, Wanted } from './waiting.ts'
export { type Watch, Watches } from './watches.ts'
