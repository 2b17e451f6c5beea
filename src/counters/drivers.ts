/**
 * Names of the vocabulary's counters in each driver, and their units: bytes or words, the number of bits, and the
 * behaviour on overflow. Sources: the kernel's drivers/infiniband (core/sysfs.c for the port counters; hw/mlx5,
 * hw/bnxt_re, hw/irdma, hw/hns, sw/rxe), and node_exporter for the correspondence of names.
 */

/** Behaviour of a counter on overflow: classic PMA counters stop, hardware registers wrap. */
export type Overflow = 'wrap' | 'saturate'

export interface Mapping {
  /** Name in the vocabulary. */
  readonly counter: string
  /** Value of one step of the driver's counter in units of the vocabulary: 4 for words. */
  readonly scale: number
  readonly bits: number
  readonly overflow: Overflow
}

export type DriverName = 'mlx5' | 'mlx4' | 'rxe' | 'siw' | 'bnxt_re' | 'irdma' | 'hns' | 'verbena'

type Names = Readonly<Record<string, string>>

/**
 * Port counters, the same for all drivers, with the classic width of each (InfiniBand Architecture Specification, volume
 * 1, 16.1.3.5). Errors have that width in sysfs even today; traffic has 64 bits if the adapter has extended counters.
 */
const portCounters: Readonly<Record<string, readonly [counter: string, bits: number, scale?: number]>> = {
  symbol_error: ['symbol_error', 16],
  link_error_recovery: ['link_error_recovery', 8],
  link_downed: ['link_downed', 8],
  port_rcv_errors: ['port_errors_received', 16],
  port_rcv_remote_physical_errors: ['port_receive_remote_physical_errors', 16],
  port_rcv_switch_relay_errors: ['port_receive_switch_relay_errors', 16],
  port_rcv_discards: ['port_discards_received', 16],
  port_xmit_discards: ['port_discards_transmitted', 16],
  port_xmit_constraint_errors: ['port_constraint_errors_transmitted', 8],
  port_rcv_constraint_errors: ['port_constraint_errors_received', 8],
  local_link_integrity_errors: ['local_link_integrity_errors', 4],
  excessive_buffer_overrun_errors: ['excessive_buffer_overrun_errors', 4],
  VL15_dropped: ['vl15_dropped', 16],
  port_xmit_wait: ['port_transmit_wait', 32],
  port_xmit_data: ['port_data_transmitted_bytes', 32, 4],
  port_rcv_data: ['port_data_received_bytes', 32, 4],
  port_xmit_packets: ['port_packets_transmitted', 32],
  port_rcv_packets: ['port_packets_received', 32],
  unicast_xmit_packets: ['unicast_packets_transmitted', 64],
  unicast_rcv_packets: ['unicast_packets_received', 64],
  multicast_xmit_packets: ['multicast_packets_transmitted', 64],
  multicast_rcv_packets: ['multicast_packets_received', 64],
}

/** Counters that have 64 bits if the adapter has extended counters. */
const extendable: ReadonlySet<string> = new Set([
  'port_xmit_data',
  'port_rcv_data',
  'port_xmit_packets',
  'port_rcv_packets',
  'port_xmit_wait',
])

/** Names in `counters_ext`, the folder of the extended counters before Linux 4.5. */
const legacyCounters: Names = {
  port_xmit_data_64: 'port_data_transmitted_bytes',
  port_rcv_data_64: 'port_data_received_bytes',
  port_xmit_packets_64: 'port_packets_transmitted',
  port_rcv_packets_64: 'port_packets_received',
  port_unicast_xmit_packets: 'unicast_packets_transmitted',
  port_unicast_rcv_packets: 'unicast_packets_received',
  port_multicast_xmit_packets: 'multicast_packets_transmitted',
  port_multicast_rcv_packets: 'multicast_packets_received',
}

const mlx5: Names = {
  rx_write_requests: 'rx_write_requests',
  rx_read_requests: 'rx_read_requests',
  rx_atomic_requests: 'rx_atomic_requests',
  rx_dct_connect: 'rx_dct_connect_requests',
  out_of_buffer: 'out_of_buffer_drops',
  out_of_sequence: 'out_of_sequence_packets_received',
  duplicate_request: 'duplicate_requests_packets',
  rnr_nak_retry_err: 'rnr_nak_retry_packets_received',
  packet_seq_err: 'packet_sequence_errors',
  implied_nak_seq_err: 'implied_nak_seq_errors',
  local_ack_timeout_err: 'local_ack_timeout_errors',
  resp_local_length_error: 'resp_local_length_errors',
  resp_cqe_error: 'resp_cqes_errors',
  req_cqe_error: 'req_cqes_errors',
  req_remote_invalid_request: 'req_remote_invalid_request_errors',
  req_remote_access_errors: 'req_remote_access_errors',
  resp_remote_access_errors: 'resp_remote_access_errors',
  resp_cqe_flush_error: 'resp_cqes_flush_errors',
  req_cqe_flush_error: 'req_cqes_flush_errors',
  req_transport_retries_exceeded: 'retry_exceeded_errors',
  req_rnr_retries_exceeded: 'rnr_retry_exceeded_errors',
  roce_adp_retrans: 'roce_adp_retransmits',
  roce_adp_retrans_to: 'roce_adp_retransmits_timeout',
  roce_slow_restart: 'roce_slow_restart_used',
  roce_slow_restart_cnps: 'roce_slow_restart_cnps',
  roce_slow_restart_trans: 'roce_slow_restart',
  rp_cnp_ignored: 'rp_cnp_ignored_packets_received',
  rp_cnp_handled: 'rp_cnp_packets_handled',
  np_ecn_marked_roce_packets: 'np_ecn_marked_roce_packets_received',
  np_cnp_sent: 'np_cnp_packets_sent',
  rx_icrc_encapsulated: 'rx_icrc_encapsulated_errors',
  rdma_tx_packets: 'rdma_packets_transmitted',
  rdma_rx_packets: 'rdma_packets_received',
  rdma_tx_bytes: 'rdma_data_transmitted_bytes',
  rdma_rx_bytes: 'rdma_data_received_bytes',
}

/** Counters of mlx5 that are not q-counters and have 64 bits. */
const mlx5Wide: ReadonlySet<string> = new Set([
  'rp_cnp_ignored',
  'rp_cnp_handled',
  'np_ecn_marked_roce_packets',
  'np_cnp_sent',
  'rx_icrc_encapsulated',
  'rdma_tx_packets',
  'rdma_rx_packets',
  'rdma_tx_bytes',
  'rdma_rx_bytes',
])

const rxe: Names = {
  sent_pkts: 'rdma_packets_transmitted',
  rcvd_pkts: 'rdma_packets_received',
  duplicate_request: 'duplicate_requests_packets',
  out_of_seq_request: 'out_of_sequence_packets_received',
  rcvd_rnr_err: 'rnr_nak_retry_packets_received',
  send_rnr_err: 'rnr_nak_packets_sent',
  rcvd_seq_err: 'packet_sequence_errors',
  ack_deferred: 'ack_deferred',
  retry_exceeded_err: 'retry_exceeded_errors',
  retry_rnr_exceeded_err: 'rnr_retry_exceeded_errors',
  completer_retry_err: 'completer_retries',
  send_err: 'send_errors',
  link_downed: 'link_downed',
  rdma_sends: 'tx_send_requests',
  rdma_recvs: 'rx_send_requests',
}

const bnxt: Names = {
  active_pds: 'active_pds',
  active_ahs: 'active_ahs',
  active_qps: 'active_qps',
  active_srqs: 'active_srqs',
  active_cqs: 'active_cqs',
  active_mrs: 'active_mrs',
  active_mws: 'active_mws',
  rx_pkts: 'rdma_packets_received',
  rx_bytes: 'rdma_data_received_bytes',
  tx_pkts: 'rdma_packets_transmitted',
  tx_bytes: 'rdma_data_transmitted_bytes',
  recoverable_errors: 'recoverable_errors',
  rx_roce_errors: 'packets_received_errors',
  rx_roce_discards: 'packets_received_discards',
  rx_out_of_buffer: 'out_of_buffer_drops',
  oos_drop_count: 'out_of_sequence_packets_received',
  to_retransmits: 'local_ack_timeout_errors',
  seq_err_naks_rcvd: 'packet_sequence_errors',
  max_retry_exceeded: 'retry_exceeded_errors',
  rnr_naks_rcvd: 'rnr_nak_retry_packets_received',
  missing_resp: 'missing_responses',
  unrecoverable_err: 'unrecoverable_errors',
  bad_resp_err: 'bad_response_errors',
  local_qp_op_err: 'local_qp_operation_errors',
  local_protection_err: 'local_protection_errors',
  remote_invalid_req_err: 'req_remote_invalid_request_errors',
  remote_access_err: 'req_remote_access_errors',
  remote_op_err: 'remote_operation_errors',
  dup_req: 'duplicate_requests_packets',
  res_length_mismatch: 'resp_local_length_errors',
  tx_atomic_req: 'tx_atomic_requests',
  rx_atomic_req: 'rx_atomic_requests',
  tx_read_req: 'tx_read_requests',
  rx_read_req: 'rx_read_requests',
  tx_read_resp: 'tx_read_responses',
  rx_read_resp: 'rx_read_responses',
  tx_write_req: 'tx_write_requests',
  rx_write_req: 'rx_write_requests',
  tx_send_req: 'tx_send_requests',
  rx_send_req: 'rx_send_requests',
}

const irdma: Names = {
  RxUDP: 'rdma_packets_received',
  TxUDP: 'rdma_packets_transmitted',
  cnpHandled: 'rp_cnp_packets_handled',
  cnpIgnored: 'rp_cnp_ignored_packets_received',
  cnpSent: 'np_cnp_packets_sent',
  RxECNMrkd: 'np_ecn_marked_roce_packets_received',
  InRdmaReads: 'rx_read_requests',
  InRdmaSends: 'rx_send_requests',
  InRdmaWrites: 'rx_write_requests',
  OutRdmaReads: 'tx_read_requests',
  OutRdmaSends: 'tx_send_requests',
  OutRdmaWrites: 'tx_write_requests',
  // Counted for RoCE and for iWARP: the register is the same.
  RetransSegs: 'retransmitted_packets',
  tcpRetransSegs: 'retransmitted_packets',
  'RNR sent': 'rnr_nak_packets_sent',
  'RNR received': 'rnr_nak_retry_packets_received',
  'Nak Sequence Error': 'packet_sequence_errors',
  'Nak Sequence Error Implied': 'implied_nak_seq_errors',
  RTO: 'local_ack_timeout_errors',
  'Rcvd Out of order packets': 'out_of_sequence_packets_received',
  'CRC errors': 'rx_icrc_encapsulated_errors',
}

const hns: Names = {
  rx_pkt: 'rdma_packets_received',
  tx_pkt: 'rdma_packets_transmitted',
  rx_err_pkt: 'packets_received_errors',
  tx_err_pkt: 'packets_transmitted_errors',
  rx_cnp_pkt: 'cnp_packets_received',
  tx_cnp_pkt: 'np_cnp_packets_sent',
}

/** Names of our own devices: Soft-RoCE's names first, then those that only they count (src/verbs/provider/layout.ts). */
const verbena: Names = {
  ...rxe,
  sent_bytes: 'rdma_data_transmitted_bytes',
  rcvd_bytes: 'rdma_data_received_bytes',
  retransmitted_pkts: 'retransmitted_packets',
  timeouts: 'local_ack_timeout_errors',
  naks_sent: 'nak_packets_sent',
  cnps_sent: 'np_cnp_packets_sent',
  cnps_rcvd: 'cnp_packets_received',
  ecn_marked: 'np_ecn_marked_roce_packets_received',
  icrc_errors: 'rx_icrc_encapsulated_errors',
  drops_malformed: 'malformed_packets_received',
  drops_no_qp: 'no_qp_packets_received',
  remote_access_errors: 'req_remote_access_errors',
  remote_invalid_requests: 'req_remote_invalid_request_errors',
  resp_remote_access_errors: 'resp_remote_access_errors',
  cq_overruns: 'cq_overruns',
}

const tables: Readonly<Record<DriverName, Names>> = {
  ...{ mlx5, rxe, irdma, hns, verbena },
  bnxt_re: bnxt,
  // They have port counters only.
  mlx4: {},
  siw: {},
}

/** Returns the mapping of a file in `counters`. `extended`: the adapter has 64-bit counters of traffic. */
export function portCounter(name: string, extended: boolean): Mapping | undefined {
  const row = Object.hasOwn(portCounters, name) ? portCounters[name] : undefined
  if (row === undefined) return undefined
  const [counter, classicBits, scale = 1] = row
  const bits = extended && extendable.has(name) ? 64 : classicBits
  return { counter, scale, bits, overflow: 'saturate' }
}

/** Returns the mapping of a file in `counters_ext`. */
export function legacyCounter(name: string): Mapping | undefined {
  const counter = Object.hasOwn(legacyCounters, name) ? legacyCounters[name] : undefined
  if (counter === undefined) return undefined
  return { counter, scale: counter.includes('data') ? 4 : 1, bits: 64, overflow: 'saturate' }
}

/** Returns the mapping of a file in `hw_counters`, or of a counter that `rdma statistic` shows. */
export function hardwareCounter(driver: DriverName | undefined, name: string): Mapping | undefined {
  const names = driver === undefined ? undefined : tables[driver]
  const counter = names !== undefined && Object.hasOwn(names, name) ? names[name] : undefined
  if (counter === undefined) return undefined
  const bits = driver === 'mlx5' && !mlx5Wide.has(name) ? 32 : 64
  return { counter, scale: 1, bits, overflow: 'wrap' }
}

/** Mapping of a statistic of ethtool to the vocabulary, with its priority. */
export interface NetdevMapping extends Mapping {
  readonly priority?: number
}

const byPriority: Names = {
  rx_pause: 'pfc_pause_received',
  tx_pause: 'pfc_pause_transmitted',
  rx_pause_duration: 'pfc_pause_duration_received_microseconds',
  tx_pause_duration: 'pfc_pause_duration_transmitted_microseconds',
  rx_bytes: 'priority_data_received_bytes',
  tx_bytes: 'priority_data_transmitted_bytes',
  rx_packets: 'priority_packets_received',
  tx_packets: 'priority_packets_transmitted',
  rx_discards: 'priority_discards_received',
}

const netdevCounters: Names = {
  rx_vport_rdma_unicast_packets: 'rdma_packets_received',
  tx_vport_rdma_unicast_packets: 'rdma_packets_transmitted',
  rx_vport_rdma_unicast_bytes: 'rdma_data_received_bytes',
  tx_vport_rdma_unicast_bytes: 'rdma_data_transmitted_bytes',
  rx_discards_phy: 'netdev_discards_received',
}

/**
 * Returns the mapping of a statistic of ethtool. PFC pauses by priority: mlx5 `rx_prio3_pause`, bnxt_en `rx_pfc_ena_frames_pri3`,
 * ice `rx_priority_3_xoff.nic`, hns3 `mac_rx_pfc_pri3_pkt_num`.
 */
export function netdevCounter(name: string): NetdevMapping | undefined {
  const wide = { scale: 1, bits: 64, overflow: 'wrap' } as const
  const plain = Object.hasOwn(netdevCounters, name) ? netdevCounters[name] : undefined
  if (plain !== undefined) return { counter: plain, ...wide }
  const mlx = /^([rt]x)_prio([0-7])_(\w+)$/.exec(name)
  const others =
    /^([rt]x)_pfc_ena_frames_pri([0-7])$/.exec(name) ??
    /^([rt]x)_priority_([0-7])_xoff(?:\.nic)?$/.exec(name) ??
    /^mac_([rt]x)_pfc_pri([0-7])_pkt_num$/.exec(name)
  const [, direction, digit, what = 'pause'] = mlx ?? others ?? []
  const key = `${direction}_${what}`
  const counter = Object.hasOwn(byPriority, key) ? byPriority[key] : undefined
  return counter === undefined ? undefined : { counter, priority: Number(digit), ...wide }
}

/** Drivers by the names of kernel modules. */
const modules: Readonly<Record<string, DriverName>> = {
  mlx5_core: 'mlx5',
  mlx5_ib: 'mlx5',
  mlx4_core: 'mlx4',
  mlx4_ib: 'mlx4',
  bnxt_en: 'bnxt_re',
  bnxt_re: 'bnxt_re',
  ice: 'irdma',
  i40e: 'irdma',
  idpf: 'irdma',
  irdma: 'irdma',
  hns3: 'hns',
  hns_roce_hw_v2: 'hns',
  rdma_rxe: 'rxe',
  siw: 'siw',
}

/**
 * Returns the driver of a device: from the kernel's module, if known, else from the device's name, else from its counters.
 * Devices are often renamed (`rocep3s0f0`), so that the name alone is weak evidence. Undefined if none of these identifies it.
 */
export function driverOf(
  module: string | undefined,
  device: string,
  hardwareCounters: readonly string[],
): DriverName | undefined {
  if (module !== undefined && Object.hasOwn(modules, module)) return modules[module]
  const named = (Object.keys(tables) as DriverName[]).find((name) => new RegExp(`^${name}_?\\d+$`).test(device))
  if (named !== undefined) return named
  let best: DriverName | undefined
  let most = 0
  for (const name of Object.keys(tables) as DriverName[]) {
    const known =
      name === 'verbena' ? 0 : hardwareCounters.filter((counter) => Object.hasOwn(tables[name], counter)).length
    if (known > most) [best, most] = [name, known]
  }
  return best
}
