/** `verbena run`: starts an unmodified program of libibverbs, librdmacm or libibumad, with adapters of Verbena. */
import type { Command } from 'commander'
import { currentRun, endWith, note, printFailure } from '../../cli/terminal/index.ts'
import { type Ended, isServed, launchServed, RunError, runProgram, runVariable } from '../../run/programs/index.ts'
import { UsageError } from '../kit/index.ts'
import { runAdapters, runMiddleware } from './adapters.ts'
import { endLike, exitCodeOf } from './end-like.ts'
import { takeValueByEquals } from './optional-value.ts'
import { type WatchOptions, watchSettings } from './watching.ts'

const examples = `
Examples:
  verbena run -- ibv_devices                       the adapter as libibverbs finds it
  verbena run -- ibv_rc_pingpong                   in one terminal; in another:
  verbena run -- ibv_rc_pingpong localhost         both meet on shm:run
  verbena run -- sh -c 'ib_write_bw & sleep 1; ib_write_bw localhost'
  verbena run --device roce:192.0.2.7 -- ib_send_lat 192.0.2.9
                                                   RoCEv2 to another host, with any adapter there
  verbena run --device shm:lab --name rxe7 -- ls /sys/class/infiniband
  verbena run --explain -- ./my-program            print the reason of each verb that fails
  verbena run --trace -- ibv_rc_pingpong           print all RDMA operations, as strace prints system calls
  verbena run --trace=t.json --json -- ./a.out     the same as JSON, in a file
  verbena run --verbose -- ibv_devinfo -v          print what the program opens, and which calls fail

The program is started unmodified, with its own libraries, and so are all processes that it starts. Its exit code, signals, terminal
and standard streams are its own. The command ends when the last of these processes has ended.
It needs Linux 5.14 or later (from 5.19 on, a signal never repeats a command) on x86-64 or arm64.`

interface Options extends WatchOptions {
  device?: string[]
  name?: string[]
  faults?: string
  tap?: string
  verbose?: boolean
  strict?: boolean
}

const collect = (value: string, before: string[] = []): string[] => [...before, value]

export function configure(command: Command): void {
  takeValueByEquals(command, '--trace')
  command
    .description('Run an unmodified program of libibverbs, librdmacm or libibumad on adapters of Verbena.')
    .argument('<program>', 'the program to start, found by PATH')
    .argument('[args...]', 'its arguments')
    .passThroughOptions()
    .option(
      '-d, --device <dev>',
      'adapter: shm:NAME in shared memory, roce:ADDRESS or roce on the network; may be repeated (default: shm:run)',
      collect,
    )
    .option('--name <name>', 'name of the adapter in the program; may be repeated (default: rxe0, rxe1, …)', collect)
    .option(
      '--faults <rates>',
      'lose, double, delay, reorder or damage packets: loss=3%,reordering=1%,delay=2ms (default: none)',
    )
    .option(
      '--tap <file>',
      'write packets to this file: pcapng, or pcap by its ending; %p is the process id (default: none)',
    )
    .option(
      '--explain',
      'print on standard error why a verb, an event of the RDMA CM or a management datagram failed, once for each program',
    )
    .option(
      '--trace [file]',
      'write each command, work request, completion, event and datagram; a file only with =: --trace=FILE (default: standard error)',
    )
    .option('--counters', 'print counters of programs and adapters on standard error at the end')
    .option('--json', 'write the trace and the counters as JSON, one object per line')
    .option(
      '--strict',
      "stop at doorbells, so that ibv_post_send has the kernel's errors; and for libibverbs before rdma-core 22",
    )
    .option('--verbose', 'print on standard error what programs open, and which calls fail')
    .addHelpText('after', examples)
    .action(async (program: string, args: string[], options: Options) => {
      const adapters = runAdapters(options.device ?? [], options.name ?? [])
      try {
        end(await start(program, args, options, adapters))
      } catch (error) {
        if (!(error instanceof RunError)) throw error
        printFailure(error.message)
        endWith(startCodes[error.code] ?? 1)
      }
    })
}

/** Exit codes of a shell that cannot start a program. */
const startCodes: Readonly<Record<string, number>> = { ENOENT: 127, EACCES: 126 }

async function start(
  program: string,
  args: readonly string[],
  { device = [], name = [], faults, tap, verbose = false, strict = false, ...watching }: Options,
  adapters: ReturnType<typeof runAdapters>,
): Promise<Ended> {
  const { env } = process
  const outer = env[runVariable]
  if (!isServed(outer)) {
    return await runProgram({
      ...{ program, args, env, adapters, verbose, strict },
      middleware: runMiddleware(adapters, { ...(faults && { faults }), ...(tap && { tap }) }),
      watch: watchSettings(watching),
      onWarning: (text) => note(text),
      leavesThreads: isOwnProcess(),
    })
  }
  const given = { device: device.length > 0, name: name.length > 0, faults, tap, strict, ...watching }
  const [option] = Object.entries(given).find(([, value]) => value !== undefined && value !== false) ?? []
  if (option !== undefined)
    throw new UsageError(
      `--${option}`,
      `this is below another \`verbena run\` (process ${Number.parseInt(outer!, 10)}), which serves programs: leave it out, or give it there`,
    )
  return await launchServed(program, args, env)
}

/** True if the command line runs in a process of its own, not inside one that called it. */
const isOwnProcess = (): boolean => currentRun().io === process

function end(ended: Ended): void {
  if (isOwnProcess()) endLike(ended)
  endWith(exitCodeOf(ended))
}
