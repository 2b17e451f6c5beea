/** Options of perftest that are not supported, each with the reason. */
import { Option } from 'commander'
import { UsageError } from '../kit/index.ts'

const noDc = 'there is no DC transport here'
const noEncryption = 'there is no encryption here'
const oneMemory = "messages are in memory of the adapter's choice: leave it out"
const onePort = 'adapters here have one port: leave it out'
const noClass = 'packets are sent with traffic class 0 here: leave it out'
const toFile = '--json prints the document: redirect it to a file'

const refused: readonly [flags: string, why: string][] = [
  ['-z, --comm_rdma_cm', 'the ends always agree over TCP here, and -R connects the queue pairs: leave it out'],
  ['--com_rdma_cm', 'the ends always agree over TCP here, and -R connects the queue pairs: leave it out'],
  ['-C, --report-cycles', 'times are measured in nanoseconds, not in cycles: leave it out'],
  ['-g, --mcg', '`verbena perf` has no multicast: `verbena mckey` sends to a group'],
  ['-M, --MGID <gid>', '`verbena perf` has no multicast: `verbena mckey` sends to a group'],
  ['-L, --hop_limit <limit>', 'packets are sent with hop limit 64 here: leave it out'],
  ['-O, --dualport', onePort],
  ['-T, --tos <class>', noClass],
  ['-W, --report-counters <names>', '`verbena devices --counters` shows the counters of all adapters'],
  ['-X, --vector <vector>', 'adapters here have one completion vector: leave it out'],
  ['--aes_xts', noEncryption],
  ['--aes_block_size <bytes>', noEncryption],
  ['--burst_size <messages>', 'a rate is kept message by message: leave it out'],
  ['--cpu_util', 'the ends poll, so their cores are always busy: `verbena bench rsocket` measures the use of the CPU'],
  ['--credentials_path <file>', noEncryption],
  ['--data_enc_key_app_path <file>', noEncryption],
  ['--data_enc_keys_number <number>', noEncryption],
  ['--disable_pcie_relaxed', 'there is no PCIe between a program and its adapter here: leave it out'],
  ['--dlid <lid>', 'the ends tell each other their LIDs: leave it out'],
  ['--dont_xchg_versions', 'the ends always compare their versions: leave it out'],
  ['--encrypt_on_tx', noEncryption],
  ['--force-link <type>', 'the adapter has the link type that it has: `verbena devinfo` shows it'],
  ['--inline_recv <bytes>', 'receives are never inline here: leave it out'],
  ['--ipv6', '-x chooses the GID, and with it IPv4 or IPv6'],
  ['--kek_path <file>', noEncryption],
  ['--latency_gap <time>', '--rate sends at a steady rate'],
  ['--log_active_dci_streams <number>', noDc],
  ['--log_dci_streams <number>', noDc],
  ['--mmap <file>', oneMemory],
  ['--mmap-offset <bytes>', oneMemory],
  ['--mr_per_qp', 'one memory region serves all queue pairs: leave it out'],
  ['--odp', oneMemory],
  ['--out_json', toFile],
  ['--out_json_file <file>', toFile],
  ['--pkey_index <index>', 'adapters here have one P_Key: leave it out'],
  ['--rate_limit_type <type>', 'the sender itself keeps the rate (SW): leave it out'],
  ['--recv_post_list <number>', 'receives are posted as they are used: leave it out'],
  ['--report-both', '--json has both directions apart'],
  ['--report-per-port', onePort],
  ['--reversed', 'the client sends: start it at the other end'],
  ['--run_infinitely', 'a test has an end here: give -D a long time, and end it with Ctrl-C'],
  ['--sig_before', noEncryption],
  ['--tclass <class>', noClass],
  ['--typical_pkt_size <bytes>', 'a rate is kept message by message: leave it out'],
  ['--use-srq', 'each queue pair has a receive queue of its own here: `verbena srq_pingpong` shares one'],
  ['--use_hugepages', oneMemory],
  ['--use_old_post_send', 'there is one way to post here: leave it out'],
  ['--wait_destroy <seconds>', 'objects are closed when the test has ended: leave it out'],
]

/** Returns the options, which are parsed, but left out of help. */
export const refusedOptions = (): Option[] => refused.map(([flags]) => new Option(flags).hideHelp())

export function refuse(options: object): void {
  for (const [flags, why] of refused) {
    const option = new Option(flags)
    if (option.attributeName() in options) throw new UsageError(option.short ?? option.long!, why)
  }
}
