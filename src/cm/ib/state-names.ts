/** The states of a connection by Linux's names; states.ts has what leads from one to the next. */
export const cmStates = [
  'IDLE',
  'LISTEN',
  'REQ_SENT',
  'REQ_RCVD',
  'MRA_REQ_SENT',
  'MRA_REQ_RCVD',
  'REP_SENT',
  'REP_RCVD',
  'MRA_REP_SENT',
  'MRA_REP_RCVD',
  'ESTABLISHED',
  'LAP_SENT',
  'LAP_RCVD',
  'MRA_LAP_SENT',
  'MRA_LAP_RCVD',
  'DREQ_SENT',
  'DREQ_RCVD',
  'TIMEWAIT',
  'SIDR_REQ_SENT',
  'SIDR_REQ_RCVD',
  /** No state of the standard: a request was rejected, or a SIDR_REQ answered, and a repeated one gets the same answer. */
  'ANSWERED',
] as const
export type CmState = (typeof cmStates)[number]
