/** The transport layer of InfiniBand: requester and responder of RC, UC and UD, without I/O. */
export { Congestion, Dcqcn } from './congestion.ts'
export { type Counters, countersOf } from './counters.ts'
export { TransportQp } from './layout.ts'
export { NetworkDevice, type NetworkDeviceInit } from './network-device.ts'
export { Origin } from './origin.ts'
export type { PacketSink } from './sink.ts'
export { defaultOptions, type TransportOptions } from './state.ts'
export { Transport } from './transport.ts'
