import { describe, expect, it, vi } from 'vitest'
import { type CommandDescription, describeCommandLine } from '../../src/cli/describe.ts'
import { commands } from '../../src/cli/registry.ts'
import { begin, verbena } from './in-process.ts'
import { outcome, startProcess } from './run.ts'

/** What limits, filters or adds something, and does nothing when it is not given. */
const optional =
  /^(-a|-b|-m|-M) <|^-s <server>|^-k <|^-T <|--(duration|limit|limit[-_]\w+|filter|decode-as|roce-port|title|messages|profile|dir) |--(to|interface|udp|mac|ip|lid|(source|destination)-port|dscp|ecn|pkey|qpn|psn|msn|rkey|va|map|pps|rate) </
/** Commands whose result is a file, or nothing. */
/** Nothing, or their standard output is the data itself. */
const withoutJson = new Set([
  'run',
  'trace convert',
  'replay messages',
  'gateway convert',
  'gateway hook',
  'gateway pipe',
  'gateway signal',
  'completion',
])

describe('help', { timeout: 60_000 }, () => {
  it('teaches: commands, options and examples', async () => {
    const { code, stdout, stderr } = await verbena('--help')
    expect(code).toBe(0)
    expect(stderr).toBe('')
    for (const word of ['bench', 'report', 'devices', 'devinfo', 'start', 'Examples:', 'verbena bench latency'])
      expect(stdout).toContain(word)
  })

  it('lists every command', async () => {
    const listed = (await verbena('--help')).stdout.split(/^Commands:$/m)[1]!.split(/^Examples:$/m)[0]!
    const shown = Object.entries(commands).flatMap(([name, { hidden }]) => (hidden === true ? [] : [name]))
    expect(shown.filter((name) => !new RegExp(`^  ${name}[ |]`, 'm').test(listed))).toEqual([])
  })

  it('names every setting of the benchmark', async () => {
    const { code, stdout } = await verbena('bench', 'latency', '--help')
    expect(code).toBe(0)
    for (const option of [
      ...['--device', '--service', '--op', '--size', '--poll', '--poll-comp', '--inline', '--unsignaled', '--burst'],
      ...['--pause', '--stamp', '--engine', '--pin', '--repeat', '--seed', '--warmup', '--json', '--out'],
    ])
      expect(stdout).toContain(`${option} `)
    const throughput = await verbena('help', 'bench')
    expect(throughput.stdout).toMatch(/latency[\s\S]*throughput/)
  })

  it('is printed when nothing is asked for', async () => {
    const { code, stdout } = await verbena()
    expect(code).toBe(0)
    expect(stdout).toContain('Usage: verbena')
  })

  it('has a version', async () => {
    const { code, stdout } = await verbena('--version')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })
})

/** Every command that does something, as words of the command line. */
const { program } = await describeCommandLine()
const leaves = (command: CommandDescription): CommandDescription[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leaves)
const all = program.commands.flatMap(leaves).map((command) => [command.name, command] as const)

describe.each(all)('verbena %s', (name, described) => {
  const words = name.split(' ')

  it('has help with a description, options with their defaults, and examples', async () => {
    const { code, stdout, stderr } = await verbena(...words, '--help')
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(new RegExp(`^Usage: verbena ${name}[ |].*\\n\\n\\S`))
    expect(stdout).toMatch(/^Examples:\n {2}verbena /m)
    expect(described.description).toMatch(/\.$/)
    expect(described.examples.length).toBeGreaterThan(0)
    for (const { command } of described.examples) expect(command).toMatch(new RegExp(`^verbena ${name}\\b`))
    expect(await verbena('help', ...words)).toEqual(words.length === 1 ? { code, stdout, stderr } : expect.anything())
  })

  it('has a default, in words, for every option that takes a value', () => {
    const without = described.options.filter(
      ({ argument, hidden, default: fallback }) => argument !== undefined && !hidden && fallback === undefined,
    )
    expect(without.map(({ flags }) => flags).filter((flags) => !optional.test(flags))).toEqual([])
  })

  it('refuses an option that it does not know, with code 2', async () => {
    const { code, stdout, stderr } = await verbena(...words, '--no-such-option')
    expect(stderr).toMatch(/unknown option '--no-such-option'/)
    expect(stderr).toContain(`Run \`verbena ${name} --help\``)
    expect([code, stdout]).toEqual([2, ''])
  })

  it.skipIf(withoutJson.has(name))('prints results as JSON', () => {
    expect(described.options.map(({ long }) => long)).toContain('--json')
  })
})

it.each([
  ['ib_send_latt', 'ib_send_lat'],
  ['gatway', 'gateway'],
])('an unknown command %s is told as any failure, with the one that is near', async (word, near) => {
  const { code, stdout, stderr } = await verbena(word)
  expect(stderr).toBe(
    `verbena: unknown command '${word}'\n(Did you mean ${near}?)\n\nRun \`verbena --help\` to see what there is.\n`,
  )
  expect([code, stdout]).toEqual([2, ''])
})

const capture = new URL('../captures/rping.pcap', import.meta.url).pathname

it.each([
  ['ibv_devinfo -d shm0 -i 300', 'devinfo -d shm0 -i 300'],
  ['ibv_devices --nothing', 'devices --nothing'],
  ['ibv_rc_pingpong -d shm0', 'rc_pingpong -d shm0'],
  ['ib_write_bw -d shm0', 'perf write_bw -d shm0'],
  ['ib_send_lat -c UD -a -s 8', 'perf send_lat -c UD -a -s 8'],
])('verbena %s is verbena %s', async (alias, name) => {
  expect(await verbena(...alias.split(' '))).toEqual(await verbena(...name.split(' ')))
})

it('runs as a process: output, errors and exit codes', async () => {
  expect(await outcome(startProcess(['trace', 'check', capture]))).toEqual(await verbena('trace', 'check', capture))
  const wrong = await outcome(startProcess(['devinfo', '-d', 'shm0', '-i', '300']))
  expect(wrong).toEqual(await verbena('devinfo', '-d', 'shm0', '-i', '300'))
  expect(wrong.code).toBe(2)
})

it('keeps the output of commands that run at the same time apart', async () => {
  const [help, list] = [begin(['--help']), begin(['trace', 'check', capture])]
  expect(await help.outcome).toEqual(await verbena('--help'))
  expect(await list.outcome).toEqual(await verbena('trace', 'check', capture))
})

describe('what cannot be', { timeout: 60_000 }, () => {
  it.each([
    [['banch'], /unknown command 'banch'[\s\S]*verbena --help/],
    [['bench', 'speed'], /unknown command 'speed'[\s\S]*verbena bench --help/],
    [['bench', 'latency', '--sise', '8'], /unknown option '--sise'[\s\S]*--size[\s\S]*verbena bench latency --help/],
    [
      ['bench', 'latency', '--size', '9'],
      /--size: '9' is not valid\. Expected 8·2\^i bytes: .* for example: --size 8,512,32768/,
    ],
    [['bench', 'latency', '--burst', '10000'], /--burst: '10000'.*from 1 to 8192/],
    [['bench', 'latency', '--service', 'RD'], /--service: 'RD'.*RC, UC or UD/],
    [['bench', 'latency', '--stamp', 'send'], /--stamp send needs --engine thread/],
    [['bench', 'latency', '--service', 'UD', '--op', 'write-imm'], /nothing is left to measure/],
    [['bench', 'latency', '--device', 'mlx5_9'], /--device: there is no device 'mlx5_9'; there are shm0/],
    [['bench', 'latency', '--repeat', 'x'], /--repeat: 'x'.*whole number/],
    [['bench', 'latency', 'extra'], /too many arguments/],
    [['bench', 'throughput', '--technique', 'magic'], /--technique: 'magic'.*send-recv/],
    [['bench', 'throughput', '--seconds', '0'], /--seconds: '0'/],
    [['bench'], /latency/],
    [['report'], /missing required argument/],
    [['report', '/nonexistent'], /\/nonexistent: .*no such directory/],
    [['report', '/nonexistent', '--open', 'maybe'], /--open: 'maybe'/],
    [['devinfo', 'nothing0'], /^verbena: -d: there is no device 'nothing0'; there are shm0.*[^)]\n$/],
  ])('verbena %j exits with 2 and says why', async (args, message) => {
    const { code, stdout, stderr } = await verbena(...args)
    expect(stderr).toMatch(message)
    expect(stdout).toBe('')
    expect(code).toBe(2)
  })
})

describe('devices', { timeout: 60_000 }, () => {
  it('lists the adapters that are always there', async () => {
    const { code, stdout } = await verbena('devices', '--json')
    expect(code).toBe(0)
    const { devices } = JSON.parse(stdout) as { devices: { name: string; kind: string; guid: string }[] }
    expect(devices.map(({ name }) => name)).toEqual(expect.arrayContaining(['shm0', 'shm1']))
    for (const { kind, guid } of devices) {
      expect(['shm', 'roce']).toContain(kind)
      expect(guid).toMatch(/^([0-9a-f]{4}:){3}[0-9a-f]{4}$/)
    }
    // As those of built-in adapters, GUIDs are the same in another process.
    const own = ({ kind, name }: { kind: string; name: string }): boolean => kind === 'shm' && /^shm[01]$/.test(name)
    const again = await outcome(startProcess(['devices', '--json']))
    expect((JSON.parse(again.stdout) as { devices: typeof devices }).devices.filter(own)).toEqual(devices.filter(own))
  })

  it('devinfo shows those of VERBENA_DEVICE, unless others are named', async () => {
    vi.stubEnv('VERBENA_DEVICE', 'shm0,shm1')
    const shown = async (...args: string[]): Promise<string[]> => {
      const { stdout } = await verbena('devinfo', ...args)
      return [...stdout.matchAll(/^hca_id: (.*)$/gm)].map(([, name]) => name!)
    }
    expect(await shown()).toEqual(['shm0', 'shm1'])
    expect(await shown('shm1')).toEqual(['shm1'])
    expect(await shown('-d', 'shm0')).toEqual(['shm0'])
    vi.stubEnv('VERBENA_DEVICE', undefined)
    expect((await shown()).length).toBeGreaterThan(2)
    vi.unstubAllEnvs()
  })

  it('are shown in the manner of ibv_devinfo', async () => {
    const { code, stdout } = await verbena('devinfo', 'shm1', '-v')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^hca_id: shm1$/m)
    expect(stdout).toMatch(/^ +max_mtu: +4096 \(5\)$/m)
    for (const field of [
      'node_guid',
      'max_qp_wr',
      'max_inline_data',
      'state',
      'active_mtu',
      'port_lid',
      'GID[0]',
      'PKEY[0]',
    ])
      expect(stdout).toContain(`${field}:`)
    expect(stdout).toContain('PORT_ACTIVE (4)')
    const json = await verbena('devinfo', '--json')
    const { devices } = JSON.parse(json.stdout) as { devices: { name: string; device: { maxQpWr: number } }[] }
    expect(devices.find(({ name }) => name === 'shm0')?.device.maxQpWr).toBeGreaterThan(8192)
  })
})
