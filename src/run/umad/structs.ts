/** Structures of the kernel's interface for management datagrams, include/uapi/rdma/ib_user_mad.h. */
import type { ValuesOf } from '../struct.ts'

/** Request codes of ioctl(2). */
export const UmadRequest = {
  registerAgent: 0xc01c1b01,
  unregisterAgent: 0x40041b02,
  enablePkey: 0x1b03,
  registerAgent2: 0xc0281b04,
} as const

/** Header before each MAD, in both directions. Programs that have not enabled P_Keys have the first 56 bytes. */
export const userMad = {
  sizeBytes: 64,
  fields: {
    id: [0, 'u32'],
    status: [4, 'u32'],
    timeoutMs: [8, 'u32'],
    retries: [12, 'u32'],
    length: [16, 'u32'],
    qpn: [20, 'be32'],
    qkey: [24, 'be32'],
    lid: [28, 'be16'],
    sl: [30, 'u8'],
    pathBits: [31, 'u8'],
    grhPresent: [32, 'u8'],
    gidIndex: [33, 'u8'],
    hopLimit: [34, 'u8'],
    trafficClass: [35, 'u8'],
    gid: [36, 'gid'],
    flowLabel: [52, 'be32'],
    pkeyIndex: [56, 'u16'],
  },
} as const
export type UserMad = ValuesOf<typeof userMad>
export const headerBytesWithoutPkey = 56

export const registerAgent = {
  sizeBytes: 28,
  fields: {
    id: [0, 'u32'],
    methods: [4, 'gid'],
    qpn: [20, 'u8'],
    mgmtClass: [21, 'u8'],
    classVersion: [22, 'u8'],
    oui0: [23, 'u8'],
    oui1: [24, 'u8'],
    oui2: [25, 'u8'],
    rmppVersion: [26, 'u8'],
  },
} as const

export const registerAgent2 = {
  sizeBytes: 40,
  fields: {
    id: [0, 'u32'],
    qpn: [4, 'u32'],
    mgmtClass: [8, 'u8'],
    classVersion: [9, 'u8'],
    flags: [12, 'u32'],
    methods: [16, 'gid'],
    oui: [32, 'u32'],
    rmppVersion: [36, 'u8'],
  },
} as const
/** Offset of `flags`, which returns the supported flags if others were requested. */
export const flagsAt = 12

/** The only flag: the program does RMPP itself. */
export const userRmppFlag = 1
