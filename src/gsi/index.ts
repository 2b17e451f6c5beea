/** Management datagrams over QP 1 of a device, on verbs. */
export { type GsiOptions, GsiPort, type MadAddress, madAddress } from './gsi-port.ts'
