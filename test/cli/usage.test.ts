import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { commands } from '../../src/cli/registry.ts'
import { verbena } from './run.ts'

describe('help', { timeout: 60_000 }, () => {
  it('teaches: commands, options and examples', async () => {
    const { code, stdout, stderr } = await verbena('--help')
    expect(code).toBe(0)
    expect(stderr).toBe('')
    for (const word of ['bench', 'report', 'devices', 'devinfo', 'start', 'Examples:', 'verbena bench latency'])
      expect(stdout).toContain(word)
  })

  it('is there for every command', async () => {
    const listed = (await verbena('--help')).stdout.split(/^Commands:$/m)[1]!.split(/^Examples:$/m)[0]!
    expect(Object.keys(commands).filter((name) => !listed.includes(`\n  ${name} `))).toEqual([])
    for (const [name, { load }] of Object.entries(commands)) {
      const program = new Command('verbena').exitOverride()
      const text: string[] = []
      program.configureOutput({ writeOut: (part) => text.push(part) })
      const command = program.command(name)
      await (await load()).configure(command)
      for (const one of [command, ...command.commands]) {
        text.length = 0
        one.outputHelp()
        const help = text.join('')
        expect(help, one.name()).toMatch(/^Usage: verbena .*\n\n\S/)
        // What has subcommands may leave the examples to these.
        if (one.commands.length === 0) expect(help, one.name()).toContain('Examples:')
      }
    }
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
    [['bench', 'latency', '--device', 'mlx5_9'], /--device: 'mlx5_9' cannot be used.*shm0/],
    [['bench', 'latency', '--repeat', 'x'], /--repeat: 'x'.*whole number/],
    [['bench', 'latency', 'extra'], /too many arguments/],
    [['bench', 'throughput', '--technique', 'magic'], /--technique: 'magic'.*send-recv/],
    [['bench', 'throughput', '--seconds', '0'], /--seconds: '0'/],
    [['bench'], /latency/],
    [['report'], /missing required argument/],
    [['report', '/nonexistent'], /\/nonexistent: .*no such directory/],
    [['report', '/nonexistent', '--open', 'maybe'], /--open: 'maybe'/],
    [['devinfo', 'nothing0'], /nothing0/],
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
