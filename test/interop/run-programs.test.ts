/**
 * Debian's own programs of the verbs, unmodified, under `verbena run`: two of them on one adapter in shared memory, which exchange what
 * they need over TCP and then talk as they would over an adapter of the host.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { both, has, lacking, run, testMeetings, there, well } from './run-kit.ts'

let meetings = 0
let nextPort = 21_000 + (process.pid % 1000) * 8

there('ibv_devices and ibv_devinfo see the adapter', async () => {
  expect(well(await run('ibv_devices'))).toMatch(/^ {4}rxe0\s+\t? *[0-9a-f]{16}$/m)
  const verbose = well(await run('ibv_devinfo -v'))
  for (const line of [/hca_id:\trxe0/, /state:\t+PORT_ACTIVE/, /link_layer:\t+InfiniBand/, /GID\[ +0\]:\t+fe80:/])
    expect(verbose).toMatch(line)
})

const pingPongs = [
  ...['ibv_rc_pingpong', 'ibv_rc_pingpong -e', 'ibv_rc_pingpong -N', 'ibv_rc_pingpong -s 1048576 -m 4096'],
  ...['ibv_uc_pingpong', 'ibv_uc_pingpong -e', 'ibv_ud_pingpong', 'ibv_ud_pingpong -e', 'ibv_srq_pingpong'],
  'ibv_srq_pingpong -e',
]
for (const program of pingPongs)
  there(`${program}: data is what was sent`, async () => {
    const port = nextPort++
    // Only that of RC compares what has come; the size of a datagram is at most that of a packet.
    const checked = `${program}${program.includes('_ud_') ? ' -s 1024' : ''} -n 200 -c -p ${port}`
    const stdout = well(await both(checked, `${checked} localhost`, port))
    expect(stdout.match(/bytes in .* seconds = .* Mbit\/sec/g)).toHaveLength(2)
    expect(stdout).not.toMatch(/invalid data/)
  })

const lowRates = '-n 500 -s 1024'
const perftests = [
  ...['send', 'write', 'read', 'atomic'].flatMap((verb) => [`ib_${verb}_lat`, `ib_${verb}_bw`]),
  ...['ib_send_lat -e', 'ib_send_lat -c UC', 'ib_send_lat -c UD', 'ib_write_lat -c UC', 'ib_send_bw -c UD'],
  ...['ib_send_bw -c UC', 'ib_write_bw -q 8', 'ib_write_bw -b', 'ib_send_bw -b -e', 'ib_atomic_bw -A CMP_AND_SWAP'],
  ...['ib_send_bw -r 4', 'ib_write_lat -I 64', 'ib_write_bw -c UC', 'ib_read_bw -o 8', 'ib_send_bw --use-srq'],
]
for (const program of perftests)
  there(`${program}`, async () => {
    const port = nextPort++
    const sized = `${program} -p ${port} ${program.includes('atomic') ? '-n 500' : lowRates}`
    const stdout = well(await both(sized, `${sized} localhost`, port))
    expect(stdout).toMatch(/^ *(8|1024) +(500|4000) /m)
  })

there('ib_write_bw of all sizes up to 8 MiB', async () => {
  const port = nextPort++
  const all = `ib_write_bw -a -n 20 -p ${port}`
  expect(well(await both(all, `${all} localhost`, port))).toMatch(/^ *8388608 +20 /m)
})

testMeetings(
  'on an adapter of several processes',
  () => {
    const device = `shm:run-meets-${process.pid}-${++meetings}`
    return [device, device]
  },
  () => nextPort++,
)

const ucx = 'UCX_NET_DEVICES=rxe0:1 UCX_TLS=rc_verbs,ud_verbs,self UCX_WARN_UNUSED_ENV_VARS=n'
test.skipIf(lacking.length > 0 || !has('ucx_perftest'))('ucx_perftest over rc_verbs', async () => {
  const port = nextPort++
  const program = `${ucx} ucx_perftest -p ${port} -t tag_lat -s 4096 -n 1000`
  expect(well(await both(program, `${program} localhost`, port))).toMatch(/^Final: +1000 /m)
})

const mpi = ['mpicc.openmpi', 'mpirun.openmpi'].filter((program) => !has(program))
const source = `
  #include <mpi.h>
  #include <stdio.h>
  int main(int argc, char **argv) {
    int rank, size, sum = 0, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 200; i++) {
      int mine = rank + i;
      MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      wrong += sum != size * i + size * (size - 1) / 2;
    }
    static int many[1 << 18];
    if (rank == 0) for (int i = 0; i < 1 << 18; i++) many[i] = i;
    MPI_Bcast(many, 1 << 18, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 1 << 18; i++) wrong += many[i] != i;
    printf("rank %d of %d: %d wrong\\n", rank, size, wrong);
    MPI_Finalize();
    return wrong != 0;
  }`
test.skipIf(lacking.length > 0 || mpi.length > 0 || !existsSync('/usr/include/x86_64-linux-gnu/mpi/mpi.h'))(
  'four ranks of Open MPI over UCX',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'verbena-run-mpi-'))
    try {
      writeFileSync(join(folder, 'ranks.c'), source)
      execFileSync('mpicc.openmpi', ['-o', join(folder, 'ranks'), join(folder, 'ranks.c')])
      const options = '-np 4 --allow-run-as-root --oversubscribe --mca pml ucx --mca btl ^openib,uct,vader,tcp'
      const { code, stdout, stderr } = await run(`${ucx.replaceAll(' UCX', '; export UCX').replace(/^/, 'export ')}
        mpirun.openmpi ${options} ${join(folder, 'ranks')}`)
      expect({ code, stdout: stdout.trim().split('\n').sort() }, stderr).toEqual({
        code: 0,
        stdout: [0, 1, 2, 3].map((rank) => `rank ${rank} of 4: 0 wrong`),
      })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
)

there('fifty programs at once on one adapter', async () => {
  const pairs = Array.from({ length: 25 }, (_, i) => nextPort + i)
  nextPort += 25
  const one = (port: number): string => `(
    ibv_rc_pingpong -c -n 50 -p ${port} > /dev/null & server=$!
    until grep -qs ':${port.toString(16).toUpperCase()} 0*:0000 0A' /proc/net/tcp /proc/net/tcp6; do sleep 0.05; done
    ibv_rc_pingpong -c -n 50 -p ${port} localhost && wait $server) &`
  const stdout = well(await run(`${pairs.map(one).join('\n')}\nwait`))
  expect(stdout.match(/bytes in .* seconds/g)).toHaveLength(25)
})
