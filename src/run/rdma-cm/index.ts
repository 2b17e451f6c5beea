/**
 * The door of `/dev/infiniband/rdma_cm`: answers for librdmacm what the kernel's ucma would, with our RDMA CM.
 *
 *     program                                        this process
 *     write ── write-call ── schema, commands ── *-commands ──► CmId (program-id)
 *     event ◄── opened-cm ◄── program-channel ◄──────── events of ids
 */
export { RdmaCmDoor } from './door.ts'
