/** The RDMA CM: connections by IP address and port, with librdmacm's names. docs/guide/rdma-cm.md shows how to use it. */
export type { CmAddress, CmSocketAddress } from './address.ts'
export { CmEventType, eventText, PortSpace, privateDataBytes, udpQkey } from './constants.ts'
export { RdmaCmError, type RdmaCmErrorCode, rdmaCmErrorCodes } from './errors.ts'
export { CmEvent, type CmEventParam } from './event.ts'
export {
  createEventChannel,
  createId,
  EventChannel,
  type EventChannelOptions,
  type IdOptions,
} from './event-channel.ts'
export { CmId, type CmIdState } from './id.ts'
export type { ConnParam, IdOptionValues, IdQpInit } from './params.ts'
