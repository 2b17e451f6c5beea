/** Which adapter a program of two processes takes, and whether two of them can meet. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type CommandDescription, describeCommandLine } from '../../../src/cli/describe.ts'
import { apart } from '../../../src/tools/kit/index.ts'
import { verbena } from '../../cli/in-process.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

/** Commands in which the spellings are tried in turn. */
const commands = [
  'perf send_lat',
  'perf write_bw',
  'rc_pingpong',
  'srq_pingpong',
  'rping -s',
  'ucmatose',
  'udaddy',
  'mckey -m 239.1.2.3',
  'cmtime',
  'rstream',
  'riostream',
  'rcopy',
  'udpong',
  'bench latency',
  'bench throughput',
  'bench rsocket',
]

const commandsOf = (command: CommandDescription): CommandDescription[] => [
  command,
  ...command.commands.flatMap(commandsOf),
]

describe.each(commands.map((words, at) => [words, at] as const))('verbena %s', (words, at) => {
  const command = words.split(' ')

  it('takes the adapter that -d, --device and --ib-dev name', async () => {
    const { program } = await describeCommandLine()
    const named = commandsOf(program).find(({ name }) => words === name || words.startsWith(`${name} -`))!
    const flags = named.options.flatMap(({ short, long }) => [short, long])
    // In rping, -d is the original's debug option.
    const spellings = ['--device', '--ib-dev', ...(command[0] === 'rping' ? [] : ['-d'])]
    for (const spelling of spellings) expect(flags).toContain(spelling)
    vi.stubEnv('VERBENA_DEVICE', 'mlx5_98')
    const { code, stderr } = await verbena(...command, spellings[at % spellings.length]!, 'mlx5_99')
    expect(stderr).toMatch(/'mlx5_99'/)
    expect(stderr).not.toContain('mlx5_98')
    expect(code).toBe(2)
  })

  it('takes that of VERBENA_DEVICE where no option names one', async () => {
    vi.stubEnv('VERBENA_DEVICE', 'mlx5_98')
    const { code, stderr } = await verbena(...command)
    expect(stderr).toMatch(/'mlx5_98'/)
    expect(code).toBe(2)
  })
})

describe('an adapter that no other process can reach', () => {
  it.each(['perf send_lat', 'rc_pingpong', 'ucmatose', 'rstream'])('is refused: %s', async (words) => {
    vi.stubEnv('VERBENA_DEVICE', 'shm1')
    const option = await verbena(...words.split(' '), '--device', 'shm0')
    expect(option.stderr).toMatch(/^verbena: (-d|--device): shm0 lives within one process/)
    const environment = await verbena(...words.split(' '))
    expect(environment.stderr).toMatch(/^verbena: VERBENA_DEVICE: shm1 lives within one process/)
    expect([option.code, environment.code]).toEqual([2, 2])
  })
})

describe('two adapters', () => {
  it.each([
    ['shm:lab', 'shm:lab'],
    ['shm:lab', 'shm:lab/1'],
    ['roce:10.0.0.1', 'roce:10.0.0.2'],
    ['roce:10.0.0.1', 'mlx5_0'],
  ])('%s and %s may meet', (here, there) => {
    expect([apart(here, there), apart(there, here)]).toEqual([undefined, undefined])
  })

  it.each([
    ['shm:lab', 'shm:lab2', 'different segments'],
    ['shm:lab/1', 'shm:other/1', 'different segments'],
    ['shm:lab', 'roce:10.0.0.1', 'do not reach each other'],
    ['mlx5_0', 'shm:lab', 'do not reach each other'],
  ])('%s and %s never do', (here, there, why) => {
    expect(apart(here, there)).toContain(`this end is on ${here} and the other on ${there}`)
    expect(apart(here, there)).toContain(why)
    expect(apart(there, here)).toContain(why)
  })
})
