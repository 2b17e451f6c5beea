/** The transport layer of InfiniBand: requester and responder of RC, UC and UD, without I/O. */
export { Area, maxResources, Tq } from './layout.ts'
export { areaOf, NetworkDevice, type NetworkDeviceInit, networkLimits, noSuchDevice } from './network-device.ts'
export { Origin } from './origin.ts'
export { psnAdd, psnDiff, psnMask } from './psn.ts'
export { maxMessageBytes } from './requester.ts'
export type { PacketSink } from './sink.ts'
export { defaultOptions, type TransportOptions } from './state.ts'
export { Transport } from './transport.ts'
