/** Trees of /sys with the layout that drivers of Linux make, as files in a folder for temporary files. */
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** Paths with their text; a text that begins with → is a symbolic link. */
export type Files = Readonly<Record<string, string>>

export function writeTree(files: Files, folder: string = mkdtempSync(join(tmpdir(), 'verbena-tree-'))): string {
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    if (text.startsWith('→')) symlinkSync(text.slice(1), file)
    else writeFileSync(file, `${text}\n`)
  }
  return folder
}

function below(prefix: string, files: Files): Files {
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [`${prefix}/${path}`, text]))
}

const all = (names: string, values: Readonly<Record<string, number | bigint>> = {}): Files =>
  Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, String(values[name] ?? 0)]),
  )

const errors = `symbol_error link_error_recovery link_downed port_rcv_errors port_rcv_remote_physical_errors
  port_rcv_switch_relay_errors port_xmit_discards port_xmit_constraint_errors port_rcv_constraint_errors
  local_link_integrity_errors excessive_buffer_overrun_errors VL15_dropped`
const traffic = 'port_xmit_data port_rcv_data port_xmit_packets port_rcv_packets port_xmit_wait'
const extended = 'unicast_xmit_packets unicast_rcv_packets multicast_xmit_packets multicast_rcv_packets'

const mlx5Counters = `rx_write_requests rx_read_requests rx_atomic_requests rx_dct_connect out_of_buffer out_of_sequence
  duplicate_request rnr_nak_retry_err packet_seq_err implied_nak_seq_err local_ack_timeout_err resp_local_length_error
  resp_cqe_error req_cqe_error req_remote_invalid_request req_remote_access_errors resp_remote_access_errors
  resp_cqe_flush_error req_cqe_flush_error roce_adp_retrans roce_adp_retrans_to roce_slow_restart roce_slow_restart_cnps
  roce_slow_restart_trans rp_cnp_ignored rp_cnp_handled np_ecn_marked_roce_packets np_cnp_sent rx_icrc_encapsulated`

const gids = {
  linkLocal: 'fe80:0000:0000:0000:0e42:a1ff:fe0a:0b0c',
  ipv4: '0000:0000:0000:0000:0000:ffff:0a00:0007',
}

function port(link: string, state: string, rate: string, more: Files = {}): Files {
  return {
    state,
    phys_state: state.startsWith('4') ? '5: LinkUp' : '3: Disabled',
    rate,
    link_layer: link,
    lid: '0x0',
    ...more,
  }
}

/** v1 and v2 of each address, as RoCE drivers make them; the last entry is not used. */
function roceGids(netdev: string): Files {
  const list = [gids.linkLocal, gids.linkLocal, gids.ipv4, gids.ipv4]
  return Object.fromEntries([
    ...list.flatMap((gid, i) => [
      [`gids/${i}`, gid],
      [`gid_attrs/types/${i}`, i % 2 === 0 ? 'IB/RoCE v1' : 'RoCE v2'],
      [`gid_attrs/ndevs/${i}`, netdev],
    ]),
    ['gids/4', '0000:0000:0000:0000:0000:0000:0000:0000'],
  ])
}

function netdev(name: string, mtu: number, more: Files = {}): Files {
  return below(`class/net/${name}`, { type: '1', mtu: String(mtu), operstate: 'up', speed: '100000', ...more })
}

/** Two ports of a ConnectX, the second without a cable; renamed, as udev does. */
export const mlx5: Files = {
  ...below('class/infiniband/mlx5_0', {
    fw_ver: '22.31.1014',
    board_id: 'MT_0000000359',
    hca_type: 'MT4125',
    node_guid: '0c42:a103:000a:0b0c',
    node_desc: 'node7 mlx5_0',
    'device/driver': '→../../../../bus/pci/drivers/mlx5_core',
    'device/net/ens1f0/dev_port': '0',
    ...below('ports/1', {
      ...port('Ethernet', '4: ACTIVE', '100 Gb/sec (4X EDR)'),
      ...roceGids('ens1f0'),
      ...below(
        'counters',
        all(`${errors} ${traffic} ${extended}`, {
          port_rcv_data: 2n ** 62n,
          port_xmit_data: 250_000_000_000,
          port_rcv_packets: 3_000_000_000_000,
          port_xmit_discards: 7,
        }),
      ),
      ...below(
        'hw_counters',
        all(`${mlx5Counters} some_new_counter`, {
          out_of_sequence: 0xffff_fff0,
          np_cnp_sent: 5_000_000_000,
          rx_read_requests: 12,
          some_new_counter: 99,
        }),
      ),
      'hw_counters/lifespan': '10',
    }),
    ...below('ports/2', {
      ...port('Ethernet', '1: DOWN', '40 Gb/sec (4X QDR)'),
      ...below('counters', all(`${errors} ${traffic} ${extended}`)),
      ...below('hw_counters', all(mlx5Counters)),
      'hw_counters/lifespan': '10',
    }),
  }),
  ...netdev('ens1f0', 1500, { 'device/driver': '→../../../bus/pci/drivers/mlx5_core', 'qos/trust': 'pcp' }),
  ...below('class/net/ens1f0/ecn', { 'roce_np/enable/3': '1', 'roce_rp/enable/3': '1', 'roce_rp/enable/4': '1' }),
  ...below('kernel/config/rdma_cm/mlx5_0/ports/1', { default_roce_mode: 'IB/RoCE v1', default_roce_tos: '106' }),
  'ethtool/ens1f0': `NIC statistics:
     rx_packets: 55
     rx_prio3_pause: 41
     rx_prio3_pause_duration: 1234
     tx_prio3_bytes: 8000
     rx_vport_rdma_unicast_bytes: 123456
     rx_discards_phy: 3`,
}

const rxe: Files = {
  ...below('class/infiniband/rxe0', {
    parent: 'eth0',
    node_desc: 'rxe',
    ...below('ports/1', {
      ...port('Ethernet', '4: ACTIVE', '2.5 Gb/sec (1X SDR)'),
      ...roceGids('eth0'),
      ...below(
        'hw_counters',
        all(
          `sent_pkts rcvd_pkts duplicate_request out_of_seq_request rcvd_rnr_err send_rnr_err rcvd_seq_err ack_deferred
         retry_exceeded_err retry_rnr_exceeded_err completer_retry_err send_err link_downed rdma_sends rdma_recvs`,
          { sent_pkts: 1000, rcvd_pkts: 990, rdma_sends: 10 },
        ),
      ),
      'hw_counters/lifespan': '10',
    }),
  }),
  ...netdev('eth0', 9000),
}

/** Renamed by udev, so that only the module tells the driver. */
const bnxt: Files = below('class/infiniband/rocep59s0f0', {
  'device/driver': '→../../../bus/pci/drivers/bnxt_en',
  ...below('ports/1', {
    ...port('Ethernet', '4: ACTIVE', '25 Gb/sec (1X EDR)'),
    ...below(
      'hw_counters',
      all('active_qps rx_pkts rx_bytes tx_pkts tx_bytes oos_drop_count res_irrq_oflow', {
        active_qps: 5,
        rx_bytes: 2n ** 60n,
        oos_drop_count: 4,
      }),
    ),
  }),
})

/** Neither module nor name tell the driver, as in a tree that was copied without its links. Names with spaces. */
const irdma: Files = below('class/infiniband/rocep1', {
  ...below('ports/1', {
    ...port('Ethernet', '4: ACTIVE', '100 Gb/sec (4X EDR)'),
    ...below('hw_counters', all('cnpHandled cnpSent RxUDP TxUDP InRdmaReads ip4InOctets', { cnpSent: 6, RxUDP: 70 })),
    'hw_counters/Nak Sequence Error': '2',
    'hw_counters/lifespan': '1000',
  }),
})

const hns: Files = below('class/infiniband/hns_0', {
  ...below('ports/1', {
    ...port('Ethernet', '4: ACTIVE', '25 Gb/sec (1X EDR)'),
    ...below(
      'hw_counters',
      all('rx_rc_pkt rx_pkt tx_pkt rx_err_pkt tx_cnp_pkt rx_cnp_pkt cq_cqe', { rx_pkt: 8, tx_cnp_pkt: 3 }),
    ),
  }),
})

/** An old adapter: InfiniBand, counters of 32 bits and less that stop at their ends. */
export const mlx4: Files = below('class/infiniband/mlx4_0', {
  hca_type: 'MT26428',
  ...below('ports/1', {
    ...port('InfiniBand', '4: ACTIVE', '32 Gb/sec (4X QDR)', { lid: '0x1a' }),
    'gids/0': 'fe80:0000:0000:0000:0002:c903:0007:1234',
    ...below(
      'counters',
      all(`${errors} ${traffic}`, {
        port_rcv_data: 0xffff_ffff,
        port_xmit_data: 1000,
        symbol_error: 0xffff,
        excessive_buffer_overrun_errors: 15,
      }),
    ),
  }),
})

/** All of them on one host. */
export const everything: Files = { ...mlx5, ...rxe, ...bnxt, ...irdma, ...hns, ...mlx4 }
