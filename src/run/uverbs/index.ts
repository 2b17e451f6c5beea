/**
 * The door of `/dev/infiniband/uverbsN`: answers for programs what the kernel's uverbs and rxe would (both command ABIs, the queues
 * of the rxe provider), with the verbs of this library.
 *
 *     program                                              this process
 *     ioctl, write ── ioctl-call, write-call ── schema ── *-verbs ──────────► verbs
 *     queues in a file (queue-file, ring) ── program-qp, program-srq ── translation ──► queue pairs, SRQs
 *                                         ◄── program-cq ──────────────── completions (door)
 *     event-pipe ◄── completion channels, asynchronous events
 */
export { UverbsDoor } from './door.ts'
export { processWaist } from './process-waist.ts'
export { bitsOf as attributeMask, modifiedFields } from './qp-mask.ts'
export { namedValue } from './value-names.ts'
