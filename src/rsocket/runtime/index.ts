/** Waiting and waking of sockets: the parts of a device that the sockets of a thread share, the event loop, blocking calls, UDP. */
import './system-errno.ts'

export { addressBytes, addressError, familyName, named, notAnAddress, type SocketAddress } from './address.ts'
export { type CmOwner, CmService } from './cm-service.ts'
export { hasClosed, hasConnected, type Leaver } from './farewell.ts'
export { type BoundLink, IoContext } from './io-context.ts'
export { everySeconds } from './keepalive.ts'
export { activate, forget, type Member } from './reactor.ts'
export { type Carrier, keepTrunk, Route } from './sharing.ts'
export { SpinWaiter, Wanted } from './spin-waiter.ts'
export { connectionParam, Stream } from './stream.ts'
export { type UdpOwner, UdpService } from './udp-service.ts'
export { type Watch, Watches } from './watches.ts'
