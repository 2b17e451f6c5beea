/**
 * Programs of perftest (Debian package perftest), unmodified, under `verbena run` on an adapter in shared memory: both ends below one
 * run, in turns with TCP of the kernel. Also beside four processes that compute (`busy-run-…`).
 *
 *     run-latency     ib_send_lat and ib_write_lat, 8 bytes and 4 KiB, both ends polling
 *     run-events      ib_send_lat -e, both ends asleep until something comes      sockperf
 *     run-bandwidth   ib_write_bw and ib_read_bw, 64 KiB and 1 MiB                iperf3
 *     run-rate        ib_send_bw, 8 bytes
 *     run-roce-latency, run-roce-bandwidth   the same on an adapter of the loopback network, beside `verbena perf` there, and iperf3
 *     run-start       a program that does nothing, beside itself without `run`
 *     run-find, run-python, run-make   programs that open many files
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Comparison, compare, compareToGoal } from './comparison.ts'
import { Load } from './load.ts'
import { finished, freePort, isInstalled, startProgram } from './programs.ts'
import { runIperf, runSockperf } from './tcp.ts'

export interface RunJob {
  name: string
  /** Programs that it needs. */
  needs: readonly string[]
  run(rounds: number): Promise<Comparison[]>
}

/** As it was built: this module is in bench/, or in build/bench/. */
const inSources = import.meta.url.endsWith('.ts')
const command = fileURLToPath(new URL(`${inSources ? '..' : '../..'}/dist/verbena.js`, import.meta.url))
const computing = 4
const messages = 5000

async function output(program: string, args: readonly string[]): Promise<string> {
  const { code, output } = await finished(startProgram(program, args))
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${output.trim().slice(-300)}`)
  return output
}

const shm = `shm:bench-run-${process.pid}`
/** On loopback, of this process alone. */
const roce = `roce:127.${100 + (process.pid % 100)}.${(process.pid >> 8) % 250}.1`

const underRunOn = (device: string, ...args: string[]): Promise<string> =>
  output(process.execPath, [command, 'run', '--device', device, '--', ...args])
const underRun = (...args: string[]): Promise<string> => underRunOn(shm, ...args)

/** The columns of the one line of figures that a client of perftest prints; `run` runs a script of the shell. */
async function figuresOf(
  run: (script: string) => Promise<string>,
  program: string,
  size: number,
  iterations: number,
): Promise<number[]> {
  const port = await freePort()
  const options = `-F -s ${size} -n ${iterations} -p ${port}`
  const listens = `grep -qs ':${port.toString(16).toUpperCase().padStart(4, '0')} 0*:0000 0A' /proc/net/tcp /proc/net/tcp6`
  const script = `${program} ${options} > /dev/null & server=$!
    until ${listens}; do kill -0 $server || exit 1; done
    ${program} ${options} 127.0.0.1 && wait $server`
  const text = await run(script)
  const figures = new RegExp(`^ *${size} +\\d+ .*`, 'm').exec(text)?.[0]
  if (figures === undefined) throw new Error(`the output of ${program} was not understood: ${text.trim().slice(-300)}`)
  return figures.trim().split(/\s+/).map(Number)
}

const perftest = (program: string, size: number, iterations: number, device = shm): Promise<number[]> =>
  figuresOf((script) => underRunOn(device, 'sh', '-c', script), program, size, iterations)

/** Of a test of latency: the least, and the median, µs one way. */
async function latency(program: string, size: number, device = shm): Promise<{ least: number; typical: number }> {
  const [, , least, , typical] = await perftest(program, size, messages, device)
  return { least: least!, typical: typical! }
}

/** Of a test of bandwidth: the average, bytes per second; perftest's MB has 2^20. */
async function bandwidth(program: string, size: number, iterations: number, device = shm): Promise<number> {
  return (await perftest(program, size, iterations, device))[3]! * 2 ** 20
}

async function inRounds(rounds: number, round: () => Promise<void>): Promise<void> {
  for (let i = 0; i < rounds; i++) await round()
}

const leastGoalUs = 25
const typicalGoalUs = 35
const latencies: RunJob = {
  name: 'run-latency',
  needs: ['ib_send_lat'],
  async run(rounds) {
    const rows: Comparison[] = []
    for (const program of ['ib_send_lat', 'ib_write_lat'])
      for (const size of [8, 4096]) {
        const least: number[] = []
        const typical: number[] = []
        await inRounds(rounds, async () => {
          const found = await latency(program, size)
          least.push(found.least)
          typical.push(found.typical)
        })
        const name = `verbena run: ${program}, ${size.toLocaleString('en')} bytes`
        rows.push(compareToGoal(`${name}, least`, least, leastGoalUs, 'µs', 'less is better'))
        rows.push(compareToGoal(`${name}, typical`, typical, typicalGoalUs, 'µs', 'less is better'))
      }
    return rows
  },
}

const events: RunJob = {
  name: 'run-events',
  needs: ['ib_send_lat', 'sockperf'],
  async run(rounds) {
    const ours: number[] = []
    const theirs: number[] = []
    await inRounds(rounds, async () => {
      ours.push((await latency('ib_send_lat -e', 8)).typical)
      theirs.push((await runSockperf()).medianNs / 1000)
    })
    const name = 'verbena run: ib_send_lat -e, 8 bytes, typical'
    return [compare(name, ours, 'sockperf (TCP)', theirs, 'µs', 'less is better', 2)]
  },
}

const streams: RunJob = {
  name: 'run-bandwidth',
  needs: ['ib_write_bw', 'iperf3'],
  async run(rounds) {
    const rows: Comparison[] = []
    for (const program of ['ib_write_bw', 'ib_read_bw'])
      for (const [title, size, iterations] of [
        ['64 KiB', 65_536, 20_000],
        ['1 MiB', 1_048_576, 2000],
      ] as const) {
        const ours: number[] = []
        const theirs: number[] = []
        await inRounds(rounds, async () => {
          ours.push((await bandwidth(program, size, iterations)) / 1e6)
          theirs.push((await runIperf(size)) / 1e6)
        })
        const name = `verbena run: ${program}, ${title}`
        rows.push(compare(name, ours, 'iperf3 (TCP)', theirs, 'MB/s', 'more is better', 1))
      }
    return rows
  },
}

/** The median of `verbena perf send_lat` between two processes on one address, µs one way. */
async function ownLatency(size: number): Promise<number> {
  const program = `${process.execPath} ${command} perf send_lat -d ${roce}`
  return (await figuresOf((script) => output('sh', ['-c', script]), program, size, messages))[4]!
}

const roceLatencies: RunJob = {
  name: 'run-roce-latency',
  needs: ['ib_send_lat'],
  async run(rounds) {
    const ours: number[] = []
    const own: number[] = []
    await inRounds(rounds, async () => {
      ours.push((await latency('ib_send_lat', 8, roce)).typical)
      own.push(await ownLatency(8))
    })
    const name = 'verbena run on roce: ib_send_lat, 8 bytes, typical'
    return [compare(name, ours, 'verbena perf send_lat', own, 'µs', 'less is better', 2)]
  },
}

const roceStreams: RunJob = {
  name: 'run-roce-bandwidth',
  needs: ['ib_write_bw', 'iperf3'],
  async run(rounds) {
    const ours: number[] = []
    const theirs: number[] = []
    await inRounds(rounds, async () => {
      ours.push((await bandwidth('ib_write_bw', 65_536, 5000, roce)) / 1e6)
      theirs.push((await runIperf(65_536)) / 1e6)
    })
    const name = 'verbena run on roce: ib_write_bw, 64 KiB'
    // Half of its bandwidth: twice its time.
    return [compare(name, ours, 'iperf3 (TCP)', theirs, 'MB/s', 'more is better', 2)]
  },
}

const rate: RunJob = {
  name: 'run-rate',
  needs: ['ib_send_bw'],
  async run(rounds) {
    const rates: number[] = []
    await inRounds(rounds, async () => {
      rates.push((await bandwidth('ib_send_bw', 8, 100_000)) / 8)
    })
    return [compareToGoal('verbena run: ib_send_bw, 8 bytes', rates, 200_000, 'messages/s', 'more is better')]
  },
}

async function elapsedMs(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

const start: RunJob = {
  name: 'run-start',
  needs: ['true'],
  async run(rounds) {
    const above: number[] = []
    await inRounds(rounds, async () => {
      const own = await elapsedMs(() => output('true', []))
      above.push((await elapsedMs(() => underRun('true'))) - own)
    })
    return [compareToGoal('verbena run: start of a program, above its own', above, 150, 'ms', 'less is better')]
  },
}

const cost = (name: string, title: string, args: readonly string[], prepare?: (folder: string) => void): RunJob => ({
  name,
  needs: [args[0]!],
  async run(rounds) {
    const ours: number[] = []
    const theirs: number[] = []
    const folder = mkdtempSync(join(tmpdir(), 'verbena-bench-run-'))
    try {
      prepare?.(folder)
      const own = args.map((text) => text.replace('FOLDER', folder))
      // The start of `run` has a row of its own: within one run, several times.
      const timed = async (run: (...command: string[]) => Promise<string>): Promise<number> => {
        const script = 'for i in 1 2 3; do s=$(date +%s%N); "$@" >/dev/null; echo $(($(date +%s%N) - s)); done'
        const times = (await run('sh', '-c', script, 'sh', ...own)).trim().split('\n').map(Number)
        return Math.min(...times) / 1e6
      }
      await inRounds(rounds, async () => {
        theirs.push(await timed((program, ...rest) => output(program!, rest)))
        ours.push(await timed(underRun))
      })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
    return [compare(`verbena run: ${title}`, ours, 'without run', theirs, 'ms', 'less is better', 1.3)]
  },
})

const sources = 50
function writeSources(folder: string): void {
  const objects = Array.from({ length: sources }, (_, i) => `f${i}.o`).join(' ')
  for (let i = 0; i < sources; i++)
    writeFileSync(join(folder, `f${i}.c`), `#include <stdio.h>\nint f${i}(void) { return puts("${i}"); }\n`)
  writeFileSync(join(folder, 'Makefile'), `all: ${objects}\n`)
}

const costs: readonly RunJob[] = [
  cost('run-find', 'find /usr', ['find', '/usr']),
  cost('run-python', "python3 -c 'import json'", ['python3', '-c', 'import json']),
  cost('run-make', `make of ${sources} files`, ['make', '-B', '-j2', '-C', 'FOLDER'], writeSources),
]

/** The same beside processes that compute. */
function busy({ name, needs, run }: RunJob): RunJob {
  return {
    name: `busy-${name}`,
    needs,
    async run(rounds) {
      const load = await Load.start(computing)
      try {
        return (await run(rounds)).map((row) => ({ ...row, name: `busy: ${row.name}` }))
      } finally {
        await load.end()
      }
    },
  }
}

const alone = [latencies, events, streams, rate, start, roceLatencies, roceStreams, ...costs]

/** Those whose programs are installed. */
export const runJobs: readonly RunJob[] = [...alone, ...alone.slice(0, 5).map(busy)].filter(({ needs }) =>
  needs.every(isInstalled),
)
