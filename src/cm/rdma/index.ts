/** The RDMA CM: connections by IP address and port, with librdmacm's names. docs/guide/rdma-cm.md shows how to use it. */
export type { CmAddress, CmSocketAddress } from './address.ts'
export { CmEventType, eventText, PortSpace, privateDataBytes, udpQkey } from './constants.ts'
export { RdmaCmError, type RdmaCmErrorCode, rdmaCmErrorCodes } from './errors.ts'
export type { CmEventParam } from './event.ts'
export type { EventChannelOptions } from './event-queue.ts'
export {
  CmEvent,
  CmId,
  type CmIdState,
  type CmRoute,
  createEventChannel,
  createId,
  EventChannel,
  type IdOptions,
} from './id.ts'
export type { ConnParam, IdOptionValues, IdQpInit } from './params.ts'
