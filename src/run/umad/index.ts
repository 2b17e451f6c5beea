/**
 * The doors of `/dev/infiniband/umadN` and `issmN`: management datagrams of programs (libibumad: ibstat, smpquery, perfquery, ibping, opensm).
 *
 *     program                                     this process
 *     ioctl ── registration ── umad-file ──┐
 *     write ── structs, addresses ─────────┼── umad-port ── outgoing (retries, RMPP)
 *     read, poll ◄── umad-file ◄───────────┘       │   └── segment-fabric ── management: agents of the adapters
 *                                                 gsi ── QP 1 ◄──► programs of other runs
 */
export { IssmDoor, UmadDoor } from './door.ts'
export { UmadPort } from './umad-port.ts'
