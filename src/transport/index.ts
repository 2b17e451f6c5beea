/** The transport layer of InfiniBand: requester and responder of RC, UC and UD, without I/O. */
export { Dcqcn } from './congestion.ts'
export { type Counters, countersOf } from './counters.ts'
export { TransportQp } from './layout.ts'
export { NetworkDevice, type NetworkDeviceInit } from './network-device.ts'

export type { PacketSink } from './sink.ts'
export type { TransportOptions } from './state.ts'
export { Transport } from './transport.ts'
