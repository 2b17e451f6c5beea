import { describe, expect, it } from 'vitest'
import {
  change,
  type DriverName,
  driverOf,
  hardwareCounter,
  legacyCounter,
  MetricsText,
  metricName,
  netdevCounter,
  perSecond,
  portCounter,
  Series,
  vocabulary,
} from '../../src/counters/index.ts'
import { counterNames } from '../../src/verbs/provider/layout.ts'

/** What the drivers of Linux count, by their sources. */
const known: Record<Exclude<DriverName, 'mlx4' | 'siw' | 'verbena'>, string> = {
  mlx5: `rx_write_requests rx_read_requests rx_atomic_requests rx_dct_connect out_of_buffer out_of_sequence duplicate_request
    rnr_nak_retry_err packet_seq_err implied_nak_seq_err local_ack_timeout_err resp_local_length_error resp_cqe_error req_cqe_error
    req_remote_invalid_request req_remote_access_errors resp_remote_access_errors resp_cqe_flush_error req_cqe_flush_error
    roce_adp_retrans roce_adp_retrans_to roce_slow_restart roce_slow_restart_cnps roce_slow_restart_trans rp_cnp_ignored
    rp_cnp_handled np_ecn_marked_roce_packets np_cnp_sent rx_icrc_encapsulated`,
  rxe: `sent_pkts rcvd_pkts duplicate_request out_of_seq_request rcvd_rnr_err send_rnr_err rcvd_seq_err ack_deferred
    retry_exceeded_err retry_rnr_exceeded_err completer_retry_err send_err link_downed rdma_sends rdma_recvs`,
  bnxt_re:
    'active_qps rx_pkts rx_bytes tx_pkts tx_bytes oos_drop_count to_retransmits seq_err_naks_rcvd rnr_naks_rcvd dup_req',
  irdma:
    'cnpHandled cnpIgnored cnpSent RxECNMrkd RxUDP TxUDP InRdmaReads InRdmaSends InRdmaWrites OutRdmaReads OutRdmaSends',
  hns: 'rx_pkt tx_pkt rx_err_pkt tx_err_pkt rx_cnp_pkt tx_cnp_pkt',
}

describe('the vocabulary', () => {
  it('has a meaning for whatever a driver is mapped to', () => {
    for (const [driver, names] of Object.entries(known))
      for (const name of names.split(/\s+/)) {
        const mapping = hardwareCounter(driver as DriverName, name)
        expect([driver, name, mapping && vocabulary.has(mapping.counter)]).toEqual([driver, name, true])
      }
    const own = counterNames.flatMap((name) => hardwareCounter('verbena', name)?.counter ?? [])
    expect(own.length).toBeGreaterThan(20)
    for (const counter of own) expect(vocabulary.has(counter)).toBe(true)
  })

  it('says the same of the same event for all drivers', () => {
    const of = (driver: DriverName, name: string) => hardwareCounter(driver, name)?.counter
    expect(of('mlx5', 'packet_seq_err')).toBe('packet_sequence_errors')
    expect(of('rxe', 'rcvd_seq_err')).toBe('packet_sequence_errors')
    expect(of('bnxt_re', 'seq_err_naks_rcvd')).toBe('packet_sequence_errors')
    expect(of('irdma', 'Nak Sequence Error')).toBe('packet_sequence_errors')
    for (const [driver, name] of [
      ['mlx5', 'np_cnp_sent'],
      ['irdma', 'cnpSent'],
      ['hns', 'tx_cnp_pkt'],
      ['verbena', 'cnps_sent'],
    ] as const)
      expect(of(driver, name)).toBe('np_cnp_packets_sent')
  })

  it('has metrics of valid names, node_exporter’s where it has them', () => {
    const names = [...vocabulary.values()].map(metricName)
    expect(new Set(names).size).toBe(names.length)
    for (const name of names) expect(name).toMatch(/^(node|verbena)_infiniband_[a-z][a-z0-9_]*$/)
    expect(names).toEqual(
      expect.arrayContaining([
        'node_infiniband_port_data_received_bytes_total',
        'node_infiniband_out_of_sequence_packets_received_total',
        'node_infiniband_rate_bytes_per_second',
        'verbena_infiniband_pfc_pause_received_total',
      ]),
    )
  })

  it('knows what is no counter, whatever it is called', () => {
    for (const name of ['toString', 'constructor', '__proto__', 'lifespan', '']) {
      expect(portCounter(name, true)).toBeUndefined()
      expect(legacyCounter(name)).toBeUndefined()
      expect(netdevCounter(name)).toBeUndefined()
      expect(hardwareCounter('mlx5', name)).toBeUndefined()
    }
  })
})

describe('how a driver counts', () => {
  it('words of four bytes, classic widths, extended counters', () => {
    expect(portCounter('port_rcv_data', true)).toMatchObject({ scale: 4, bits: 64 })
    expect(portCounter('port_rcv_data', false)).toMatchObject({ scale: 4, bits: 32, overflow: 'saturate' })
    expect(portCounter('local_link_integrity_errors', true)).toMatchObject({ scale: 1, bits: 4 })
    expect(legacyCounter('port_xmit_data_64')).toMatchObject({ counter: 'port_data_transmitted_bytes', scale: 4 })
    expect(hardwareCounter('mlx5', 'out_of_buffer')).toMatchObject({ bits: 32, overflow: 'wrap' })
    expect(hardwareCounter('mlx5', 'np_cnp_sent')).toMatchObject({ bits: 64 })
  })

  it('PFC by priority, of four drivers', () => {
    const pause = { counter: 'pfc_pause_received', priority: 3 }
    for (const name of [
      'rx_prio3_pause',
      'rx_pfc_ena_frames_pri3',
      'rx_priority_3_xoff.nic',
      'mac_rx_pfc_pri3_pkt_num',
    ])
      expect([name, netdevCounter(name)]).toEqual([name, expect.objectContaining(pause)])
    expect(netdevCounter('tx_prio0_bytes')).toMatchObject({ counter: 'priority_data_transmitted_bytes', priority: 0 })
    expect(netdevCounter('rx_vport_rdma_unicast_bytes')).toMatchObject({ counter: 'rdma_data_received_bytes' })
    expect(netdevCounter('rx_prio9_pause')).toBeUndefined()
  })

  it('which driver it is: by module, by name, by what it counts', () => {
    expect(driverOf('mlx5_core', 'rocep3s0f0', [])).toBe('mlx5')
    expect(driverOf(undefined, 'bnxt_re0', [])).toBe('bnxt_re')
    expect(driverOf('nobody_knows', 'rocep3s0f0', ['cnpSent', 'RxUDP'])).toBe('irdma')
    expect(driverOf(undefined, 'roce0', ['duplicate_request', 'sent_pkts', 'rcvd_pkts'])).toBe('rxe')
    expect(driverOf(undefined, 'efa_0', ['tx_bytes_of_efa'])).toBeUndefined()
  })
})

describe('between two readings', () => {
  const q = { bits: 32, overflow: 'wrap', lifespanMs: 10 } as const

  it('wraps, or is reset', () => {
    expect(change(0xffff_fff0n, 0x10n, 1000, q)).toEqual({ step: 'wrapped', delta: 32, elapsedMs: 1000 })
    expect(change(1_000_000n, 10n, 1000, q)).toEqual({ step: 'reset', delta: 10, elapsedMs: 1000 })
    // Near its end, but too much for a millisecond.
    expect(change(0xf000_0000n, 0x1000_0000n, 10, q).step).toBe('reset')
  })

  it('an old reading waits for a fresh one', () => {
    const series = new Series()
    series.add(100n, 0, q)
    expect(series.add(100n, 5, q).step).toBe('stale')
    expect(perSecond(series.add(160n, 20, q))).toBe(3000)
    expect(series.total).toBe(60)
  })

  it('one that stands at its end has no rate', () => {
    const rules = { bits: 16, overflow: 'saturate', lifespanMs: 0 } as const
    expect(perSecond(change(65_000n, 65_535n, 1000, rules))).toBe(535)
    expect(perSecond(change(65_535n, 65_535n, 1000, rules))).toBeUndefined()
  })
})

it('text for Prometheus is escaped', () => {
  const text = new MetricsText()
  text.family('a_total', 'counter', 'One\ntwo \\')
  text.value({ device: 'a"b\\c\nd' }, 2n ** 60n)
  expect(text.toString()).toBe(
    '# HELP a_total One\\ntwo \\\\\n# TYPE a_total counter\na_total{device="a\\"b\\\\c\\nd"} 1152921504606846976\n',
  )
})
