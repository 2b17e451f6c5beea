/** Every option of perftest is accepted, or there is a reason why not. */
import { expect, test } from 'vitest'
import { describeCommandLine } from '../../../src/cli/describe.ts'
import { isLatency, type PerfTest, perfTests, verbOf } from '../../../src/tools/perf/settings.ts'

/** The long names of perftest 6.06. */
const originals = {
  all: 'CPU-freq aes_block_size aes_xts com_rdma_cm connection cpu_util credentials_path data_enc_key_app_path data_enc_keys_number dlid dont_xchg_versions duration encrypt_on_tx force-link gid-index help hop_limit ib-dev ib-port ipv6 iters kek_path log_active_dci_streams log_dci_streams margin mmap mmap-offset mtu odp out_json out_json_file output perform_warm_up pkey_index port qp-timeout rdma_cm report-counters retry_count sig_before sl source_ip tclass tos use_hugepages use_old_post_send version',
  bw: 'bidirectional burst_size cq-mod disable_pcie_relaxed dualport limit_bw limit_msgrate mr_per_qp noPeak post_list qp rate_limit rate_limit_type rate_units recv_post_list report-both report-per-port report_gbits reversed run_infinitely tx-depth typical_pkt_size wait_destroy',
  lat: 'latency_gap report-cycles report-histogram report-unsorted',
  send: 'MGID all events inline_recv inline_size mcg rx-depth size use-srq vector',
  write: 'all inline_size size',
  read: 'all events inline_recv outs size vector',
  atomic: 'atomic_type events inline_recv outs vector',
} as const

test.each(perfTests)('%s', async (name: PerfTest) => {
  const { program } = await describeCommandLine()
  const perf = program.commands.find((command) => command.name === 'perf')!
  const { options } = perf.commands.find((command) => command.name === `perf ${name}`)!
  const known = new Set(options.map(({ long }) => long))
  const wanted = [originals.all, originals[isLatency(name) ? 'lat' : 'bw'], originals[verbOf(name)]]
  expect(wanted.flatMap((names) => names.split(' ')).filter((option) => !known.has(`--${option}`))).toEqual([])
})
