/** Names and numbers of librdmacm (rdma_cma.h), and values that the Linux kernel's RDMA CM fills in. */
import { QpType } from '../../verbs/index.ts'

/** `rdma_port_space`: `RDMA_PS_TCP` is `PortSpace.Tcp`. */
export const PortSpace = { IpOIb: 0x0002, Tcp: 0x0106, Udp: 0x0111, Ib: 0x013f } as const
export type PortSpace = (typeof PortSpace)[keyof typeof PortSpace]

/** `rdma_cm_event_type`: `RDMA_CM_EVENT_CONNECT_REQUEST` is `CmEventType.ConnectRequest`. */
export const CmEventType = {
  AddrResolved: 0,
  AddrError: 1,
  RouteResolved: 2,
  RouteError: 3,
  ConnectRequest: 4,
  ConnectResponse: 5,
  ConnectError: 6,
  Unreachable: 7,
  Rejected: 8,
  Established: 9,
  Disconnected: 10,
  DeviceRemoval: 11,
  MulticastJoin: 12,
  MulticastError: 13,
  AddrChange: 14,
  TimewaitExit: 15,
} as const
export type CmEventType = (typeof CmEventType)[keyof typeof CmEventType]

const eventNames: readonly string[] = Object.keys(CmEventType).map(
  (name) => `RDMA_CM_EVENT_${name.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase()}`,
)

/** `rdma_event_str`: `RDMA_CM_EVENT_ADDR_RESOLVED`. */
export function eventText(type: CmEventType): string {
  return eventNames[type] ?? 'UNKNOWN EVENT'
}

/** The default QP type of a port space. */
export function qpTypeOf(portSpace: PortSpace): QpType {
  return portSpace === PortSpace.Udp || portSpace === PortSpace.IpOIb ? QpType.UD : QpType.RC
}

/** `RDMA_UDP_QKEY`. */
export const udpQkey = 0x01234567

/** Bytes of private data of a program, after the header of 36 bytes in a REQ and SIDR_REQ. */
export const privateDataBytes = { connect: 56, connectUd: 180, accept: 196, acceptUd: 136, reject: 148 } as const

/** Status of events, as the kernel gives it: an errno, negative. A rejection has its reason, positive. */
export const errno = {
  ENODEV: 19,
  EINVAL: 22,
  EADDRNOTAVAIL: 99,
  ENETUNREACH: 101,
  ETIMEDOUT: 110,
  ECONNREFUSED: 111,
  EHOSTUNREACH: 113,
} as const

/** Returns the number of an error of the host's routes, by its code; ENODEV for codes that only mean that no route leads there. */
export function errnoOf(code: string): number {
  return (errno as Readonly<Record<string, number>>)[code] ?? errno.ENODEV
}
