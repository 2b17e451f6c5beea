// π as the area under 4 / (1 + x²), the ranks' strips added up with collectives: what cpi.c is among the examples of MPI.
//
//     node examples/pi.mjs                       four processes, started here
//     mpirun -np 4 node examples/pi.mjs          or by a launcher
import { fileURLToPath } from 'node:url'
import { createCommunicator, joinGroup, runRanks } from 'verbena/collectives'

const launched = ['VERBENA_RANK', 'OMPI_COMM_WORLD_RANK', 'PMI_RANK', 'SLURM_PROCID'].some(
  (name) => name in process.env,
)
if (!launched) {
  const args = [fileURLToPath(import.meta.url), ...process.argv.slice(2)]
  process.exitCode = await runRanks({ size: 4, args, onLine: (rank, line) => console.error(`rank ${rank}: ${line}`) })
} else {
  const group = await joinGroup()
  const comm = await createCommunicator(group)
  const { rank, size } = comm

  // Only rank 0 knows how many strips; a broadcast tells the others.
  const strips = Int32Array.of(rank === 0 ? Number(process.argv[2] ?? 1_000_000) : 0)
  comm.broadcast(strips)
  const [n] = strips
  let area = 0
  for (let i = rank; i < n; i += size) area += 4 / (1 + ((i + 0.5) / n) ** 2) / n

  const pi = new Float64Array(1)
  comm.reduce(Float64Array.of(area), pi, 'sum')
  if (rank === 0) console.log(`π is about ${pi[0].toFixed(12)}, from ${n.toLocaleString('en')} strips of ${size} ranks`)
  await comm.end() // when all ranks have what they wait for
  await group.close()
}
