/** The laboratory of the interoperation tests: Soft-RoCE guests beside programs of ours. */
export * from './addresses.ts'
export { Capture, tsharkObjections } from './capture.ts'
export { type Counters, Guest, type GuestOutcome, type Job } from './guest.ts'
export type { Impairment } from './impairment.ts'
export { Lab } from './lab.ts'
export { type Packet, readPackets } from './packets.ts'
export { type Outcome, Program, runProgram, tail } from './program.ts'
export { guestImages, missing } from './requirements.ts'
