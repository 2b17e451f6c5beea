/**
 * One vocabulary for the counters of all RDMA drivers. A counter has one name and one unit here, whatever its name
 * and unit in a driver: bytes are bytes, not words of four.
 *
 * Names are those of node_exporter's metrics without `node_infiniband_` and `_total`, if it has the counter
 * (`exported`); the others follow the same pattern. Meanings: the kernel's ABI documentation of
 * /sys/class/infiniband, the sources of the drivers, and the InfiniBand Architecture Specification, volume 1, 16.1.3.
 */

export type Unit = 'bytes' | 'packets' | 'events' | 'messages' | 'objects' | 'ticks' | 'seconds' | 'microseconds' | 'id'

export interface CounterMeaning {
  readonly name: string
  /** Kind: a counter only grows, until it wraps, saturates or is reset; a gauge can take any value at any time. */
  readonly kind: 'counter' | 'gauge'
  readonly unit: Unit
  /** True if node_exporter has it under this name. */
  readonly exported: boolean
  readonly help: string
}

type Row = readonly [name: string, unit: Unit, help: string]

/** Counters that node_exporter has: those of the port (PMA), then those of mlx5. */
const exported: readonly Row[] = [
  ['port_data_received_bytes', 'bytes', 'Bytes received, from the LRH or BTH to the ICRC, without link packets'],
  ['port_data_transmitted_bytes', 'bytes', 'Bytes transmitted, without link packets'],
  ['port_packets_received', 'packets', 'Packets received, those with errors included'],
  ['port_packets_transmitted', 'packets', 'Packets transmitted, those with errors included'],
  ['unicast_packets_received', 'packets', 'Unicast packets received'],
  ['unicast_packets_transmitted', 'packets', 'Unicast packets transmitted'],
  ['multicast_packets_received', 'packets', 'Multicast packets received'],
  ['multicast_packets_transmitted', 'packets', 'Multicast packets transmitted'],
  ['port_transmit_wait', 'ticks', 'Ticks in which the port had data to send and could not: no credits, or paused'],
  ['port_errors_received', 'packets', 'Packets received with an error: ICRC, VCRC, length, malformed'],
  ['port_receive_remote_physical_errors', 'packets', 'Packets received that a sender had marked as bad (EBP)'],
  ['port_receive_switch_relay_errors', 'packets', 'Packets that a switch could not forward'],
  ['port_discards_transmitted', 'packets', 'Packets not sent because the port was down or congested'],
  ['port_discards_received', 'packets', 'Packets received and discarded because the port was down or congested'],
  ['port_constraint_errors_transmitted', 'packets', 'Packets not sent because of their partition or the raw filter'],
  ['port_constraint_errors_received', 'packets', 'Packets discarded because of their partition or the raw filter'],
  ['local_link_integrity_errors', 'events', 'Times that local physical errors exceeded their threshold'],
  ['excessive_buffer_overrun_errors', 'events', 'Times that buffer overruns exceeded their threshold'],
  ['symbol_error', 'events', 'Minor errors on a lane of the link'],
  ['link_error_recovery', 'events', 'Errors of the link from which it recovered'],
  ['link_downed', 'events', 'Errors of the link from which it did not recover'],
  ['vl15_dropped', 'packets', 'Management packets dropped for lack of buffers'],
  ['duplicate_requests_packets', 'packets', 'Requests received that had been executed before'],
  ['out_of_sequence_packets_received', 'packets', 'Requests received beyond the expected PSN'],
  ['packet_sequence_errors', 'packets', 'NAKs received for a PSN sequence error'],
  ['implied_nak_seq_errors', 'events', 'Losses that a requester concluded from a later response'],
  ['local_ack_timeout_errors', 'events', 'Times that the ACK timer of a requester expired'],
  ['rnr_nak_retry_packets_received', 'packets', 'RNR NAKs received'],
  ['out_of_buffer_drops', 'packets', 'Packets dropped because the receive queue was empty'],
  ['req_cqes_errors', 'events', 'Completions with an error at requesters'],
  ['req_cqes_flush_errors', 'events', 'Work requests flushed at requesters'],
  ['req_remote_access_errors', 'events', 'Requests that failed with a remote access error'],
  ['req_remote_invalid_request_errors', 'events', 'Requests that failed with a remote invalid request error'],
  ['resp_cqes_errors', 'events', 'Completions with an error at responders'],
  ['resp_cqes_flush_errors', 'events', 'Receive requests flushed at responders'],
  ['resp_local_length_errors', 'events', 'Messages that were longer than the receive buffer'],
  ['resp_remote_access_errors', 'events', 'Requests that a responder rejected: key, bounds or permission'],
  ['rx_read_requests', 'messages', 'RDMA READ requests received'],
  ['rx_write_requests', 'messages', 'RDMA WRITE requests received'],
  ['rx_atomic_requests', 'messages', 'Atomic requests received'],
  ['rx_dct_connect_requests', 'messages', 'Requests to connect a DCT received'],
  ['rx_icrc_encapsulated_errors', 'packets', 'RoCE packets received with a wrong ICRC'],
  ['np_ecn_marked_roce_packets_received', 'packets', 'RoCEv2 packets received with the mark Congestion Experienced'],
  ['np_cnp_packets_sent', 'packets', 'Congestion notification packets sent'],
  ['rp_cnp_packets_handled', 'packets', 'Congestion notification packets received that slowed a sender down'],
  ['rp_cnp_ignored_packets_received', 'packets', 'Congestion notification packets received and ignored'],
  ['roce_adp_retransmits', 'events', 'Adaptive retransmissions'],
  ['roce_adp_retransmits_timeout', 'events', 'Timeouts reached because of adaptive retransmission'],
  ['roce_slow_restart_used', 'events', 'Times that slow restart was used'],
  ['roce_slow_restart_cnps', 'packets', 'Congestion notification packets that slow restart caused'],
  ['roce_slow_restart', 'events', 'Times that slow restart changed its state'],
]

/** Counters of other drivers, and of ethtool. */
const ours: readonly Row[] = [
  ['rdma_data_received_bytes', 'bytes', 'Bytes of RDMA packets received, where a driver counts them apart'],
  ['rdma_data_transmitted_bytes', 'bytes', 'Bytes of RDMA packets transmitted, where a driver counts them apart'],
  ['rdma_packets_received', 'packets', 'RDMA packets received, where a driver counts them apart'],
  ['rdma_packets_transmitted', 'packets', 'RDMA packets transmitted, where a driver counts them apart'],
  ['rx_send_requests', 'messages', 'SEND requests received'],
  ['tx_send_requests', 'messages', 'SEND requests transmitted'],
  ['tx_write_requests', 'messages', 'RDMA WRITE requests transmitted'],
  ['tx_read_requests', 'messages', 'RDMA READ requests transmitted'],
  ['tx_atomic_requests', 'messages', 'Atomic requests transmitted'],
  ['rx_read_responses', 'packets', 'RDMA READ responses received'],
  ['tx_read_responses', 'packets', 'RDMA READ responses transmitted'],
  ['rnr_nak_packets_sent', 'packets', 'RNR NAKs sent: a request met an empty receive queue'],
  ['nak_packets_sent', 'packets', 'NAKs sent, RNR NAKs not included'],
  ['ack_deferred', 'events', 'ACKs whose handling was deferred'],
  ['retransmitted_packets', 'packets', 'Packets sent again'],
  ['retry_exceeded_errors', 'events', 'Queue pairs that gave up: too many retransmissions'],
  ['rnr_retry_exceeded_errors', 'events', 'Queue pairs that gave up: too many RNR NAKs'],
  ['completer_retries', 'events', 'Times that a completer retried'],
  ['send_errors', 'events', 'Packets that could not be given to the network'],
  ['cnp_packets_received', 'packets', 'Congestion notification packets received'],
  ['packets_received_errors', 'packets', 'RDMA packets received with an error'],
  ['packets_received_discards', 'packets', 'RDMA packets received and discarded'],
  ['packets_transmitted_errors', 'packets', 'RDMA packets that were not sent because of an error'],
  ['malformed_packets_received', 'packets', 'RDMA packets dropped because of their headers or lengths'],
  [
    'no_qp_packets_received',
    'packets',
    'RDMA packets dropped for a queue pair that does not exist or does not receive',
  ],
  ['recoverable_errors', 'events', 'Errors of the adapter that it recovered from'],
  ['unrecoverable_errors', 'events', 'Errors of the adapter that it did not recover from'],
  ['missing_responses', 'events', 'Responses that did not come'],
  ['bad_response_errors', 'events', 'Responses that were invalid'],
  ['local_qp_operation_errors', 'events', 'Work requests that failed with a local QP operation error'],
  ['local_protection_errors', 'events', 'Work requests that failed with a local protection error'],
  ['remote_operation_errors', 'events', 'Work requests that failed with a remote operation error'],
  ['cq_overruns', 'events', 'Completions lost because the completion queue was full'],
  ['pfc_pause_received', 'packets', 'PFC pause frames received for a priority'],
  ['pfc_pause_transmitted', 'packets', 'PFC pause frames transmitted for a priority'],
  ['pfc_pause_duration_received_microseconds', 'microseconds', 'Time that a priority was paused by the peer'],
  ['pfc_pause_duration_transmitted_microseconds', 'microseconds', 'Time that a priority paused the peer'],
  ['priority_data_received_bytes', 'bytes', 'Bytes received on a priority, RDMA or not'],
  ['priority_data_transmitted_bytes', 'bytes', 'Bytes transmitted on a priority, RDMA or not'],
  ['priority_packets_received', 'packets', 'Packets received on a priority, RDMA or not'],
  ['priority_packets_transmitted', 'packets', 'Packets transmitted on a priority, RDMA or not'],
  ['priority_discards_received', 'packets', 'Packets of a priority discarded for lack of buffers'],
  ['netdev_discards_received', 'packets', 'Packets that the port discarded for lack of buffers, RDMA or not'],
]

const exportedGauges: readonly Row[] = [
  ['state_id', 'id', 'State of the port: 1 down, 2 init, 3 armed, 4 active, 5 active (defer)'],
  ['physical_state_id', 'id', 'Physical state: 1 sleep, 2 polling, 3 disabled, 4 training, 5 link up, 6 recovery'],
  ['rate_bytes_per_second', 'bytes', 'Signalling rate of the port, bytes per second'],
  ['lifespan_seconds', 'seconds', 'Age up to which the driver gives hardware counters from its cache'],
]

const ourGauges: readonly Row[] = [
  ['active_pds', 'objects', 'Protection domains'],
  ['active_ahs', 'objects', 'Address handles'],
  ['active_qps', 'objects', 'Queue pairs'],
  ['active_srqs', 'objects', 'Shared receive queues'],
  ['active_cqs', 'objects', 'Completion queues'],
  ['active_mrs', 'objects', 'Memory regions'],
  ['active_mws', 'objects', 'Memory windows'],
]

function meanings(rows: readonly Row[], kind: CounterMeaning['kind'], isExported: boolean): CounterMeaning[] {
  return rows.map(([name, unit, help]) => ({ name, kind, unit, exported: isExported, help }))
}

/** Meanings by name, in the order in which they are shown. */
export const vocabulary: ReadonlyMap<string, CounterMeaning> = new Map(
  [
    ...meanings(exportedGauges, 'gauge', true),
    ...meanings(exported, 'counter', true),
    ...meanings(ours, 'counter', false),
    ...meanings(ourGauges, 'gauge', false),
  ].map((meaning) => [meaning.name, meaning]),
)

/** Returns the name of a metric: node_exporter's if it has the counter. */
export function metricName({ name, kind, exported }: CounterMeaning): string {
  const suffix = kind === 'counter' ? '_total' : ''
  return `${exported ? 'node' : 'verbena'}_infiniband_${name}${suffix}`
}
