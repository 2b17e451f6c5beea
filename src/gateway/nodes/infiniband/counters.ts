/** Counts of events since the start. */
export interface InfinibandCounters {
  sent: number
  received: number
  /** Samples sent inline, and sent signaled. */
  inline: number
  signaled: number
  /** Samples lost, because there was no connection, or because the send queue was full. */
  not_connected: number
  send_queue_full: number
  /** Requests that ended with an error, or that the end of a connection flushed. */
  send_failed: number
  receive_failed: number
  /** Messages that are not samples. */
  malformed: number
  connections: number
  disconnects: number
  connect_failed: number
  requests_rejected: number
}

export function newCounters(): InfinibandCounters {
  return {
    sent: 0,
    received: 0,
    inline: 0,
    signaled: 0,
    not_connected: 0,
    send_queue_full: 0,
    send_failed: 0,
    receive_failed: 0,
    malformed: 0,
    connections: 0,
    disconnects: 0,
    connect_failed: 0,
    requests_rejected: 0,
  }
}
