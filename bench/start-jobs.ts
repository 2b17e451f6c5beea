/**
 * What starting costs a program: processor time, which depends less than the time of day on what else runs. A process of which no socket
 * has a rule, beside plain Node; and one that makes its first connection, to itself, beside TCP; and one that makes a thousand requests
 * of HTTP, of which most run before V8 has compiled what they run.
 */
import { fileURLToPath } from 'node:url'
import { entryModule } from '../src/memory/index.ts'
import { medianOf } from '../src/stats/index.ts'
import { compare, compareToGoal } from './comparison.ts'
import { overDevices, overMemory, type PreloadJob, preloadModule } from './preload-jobs.ts'
import { finished, startProgram } from './programs.ts'

const program = fileURLToPath(entryModule(import.meta.url, './started-program'))
/** Processes of each kind in a round, in turns; the median counts. */
const processes = 9
/** Above plain Node, milliseconds. */
const goalMs = 40

async function cpuMs(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { code, output } = await finished(startProgram(process.execPath, args, environment))
  const ms = Number(output.trim())
  if (code !== 0 || !(ms > 0)) throw new Error(`a program that was started ended with ${code}: ${output.trim()}`)
  return ms
}

/** The medians of a round: with the preload and these settings, and without. */
async function inTurns(settings: NodeJS.ProcessEnv, args: readonly string[]): Promise<[number, number]> {
  const ours: number[] = []
  const theirs: number[] = []
  for (let i = 0; i < processes; i++) {
    ours.push(await cpuMs(['--import', preloadModule, program, ...args], settings))
    theirs.push(await cpuMs([program, ...args], {}))
  }
  return [medianOf(ours), medianOf(theirs)]
}

const starting: PreloadJob = {
  name: 'start',
  network: false,
  async run(rounds) {
    const above: number[] = []
    for (let round = 0; round < rounds; round++) {
      const [ours, theirs] = await inTurns({ VERBENA_PRELOAD: '192.0.2.1 rdma-only' }, [])
      above.push(ours - theirs)
    }
    const title = "start under verbena/preload, no socket with a rule, CPU above plain Node's"
    return [compareToGoal(title, above, goalMs, 'ms', 'less is better')]
  },
}

const fewRequests = 1000

const first = (network: boolean, requests = 0): PreloadJob => ({
  name: `start-${network ? 'wire-' : ''}${requests > 0 ? 'requests' : 'first'}`,
  network,
  async run(rounds, devices) {
    const ours: number[] = []
    const theirs: number[] = []
    for (let round = 0; round < rounds; round++) {
      const { host, server } = network ? overDevices(devices) : overMemory(`shm:bench-${process.pid}-${round}`)
      const [our, their] = await inTurns(server, requests > 0 ? [host, String(requests)] : [host])
      ours.push(our)
      theirs.push(their)
    }
    const on = network ? devices[1].replace(/:.*/, '') : 'shm'
    const does = requests > 0 ? `makes ${requests.toLocaleString('en')} requests to itself` : 'connects to itself'
    const title = `a process that starts, ${does} and ends, CPU, ${on}`
    return [compare(title, ours, 'the same over TCP', theirs, 'ms', 'less is better')]
  },
})

export const startJobs: readonly PreloadJob[] = [
  ...[starting, first(false), first(true)],
  ...[first(false, fewRequests), first(true, fewRequests)],
]
