/** What happened since the start. */
export interface InfinibandCounters {
  sent: number
  received: number
  /** Of those sent: inline, and signaled. */
  inline: number
  signaled: number
  /** Lost, because there was no connection, or because the send queue was full. */
  notConnected: number
  sendQueueFull: number
  /** Requests that ended with an error, or that the end of a connection flushed. */
  sendFailed: number
  receiveFailed: number
  /** Messages that are no sample. */
  malformed: number
  connections: number
  disconnects: number
  connectFailed: number
  requestsRejected: number
}

export function newCounters(): InfinibandCounters {
  return {
    sent: 0,
    received: 0,
    inline: 0,
    signaled: 0,
    notConnected: 0,
    sendQueueFull: 0,
    sendFailed: 0,
    receiveFailed: 0,
    malformed: 0,
    connections: 0,
    disconnects: 0,
    connectFailed: 0,
    requestsRejected: 0,
  }
}
