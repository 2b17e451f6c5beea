/**
 * A network namespace of its own with a bridge, guests on it, and programs of ours beside them:
 *
 *     keeper.sh ─ namespace "verbena-…"
 *       br0        this side: 10.77.0.1, fd77::1, fe80::77:1
 *       ├ link1    guest 1: 10.77.0.2, fd77::2
 *       └ link2    guest 2: 10.77.0.3, fd77::3
 *
 * All that is started here runs in the namespace, and the keeper ends what is left in it when this process is gone.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ethernetHeader, mtu, ourLinkLocal, ours, procAddress } from './addresses.ts'
import { Capture } from './capture.ts'
import { Guest } from './guest.ts'
import { type Outcome, Program } from './program.ts'

const dayMs = 24 * 60 * 60 * 1000
const keeperPath = fileURLToPath(new URL('./keeper.sh', import.meta.url))

export class Lab {
  readonly namespace: string
  /** For sockets and captures; removed at the end. */
  readonly directory: string
  readonly #keeper: Program
  readonly #guests = new Map<number, Guest>()
  readonly #programs: Program[] = []

  constructor(namespace: string, directory: string, keeper: Program) {
    this.namespace = namespace
    this.directory = directory
    this.#keeper = keeper
  }

  static async open(links = 2): Promise<Lab> {
    const namespace = `verbena-${process.pid}-${randomBytes(3).toString('hex')}`
    const directory = mkdtempSync(join(tmpdir(), 'verbena-lab-'))
    const addresses = [`${ours.ipv4}/24`, `${ours.ipv6}/64`, `${ourLinkLocal}/64`]
    const keeper = new Program('bash', [keeperPath, namespace, directory, `${mtu}`, `${links}`, ...addresses], dayMs)
    const lab = new Lab(namespace, directory, keeper)
    try {
      await keeper.says('ready\n', 10_000)
    } catch (error) {
      await lab.close()
      throw error
    }
    return lab
  }

  /**
   * Starts guest 1 or 2 and waits until its device is active. Programs that poll on this side must not keep its emulated
   * processor waiting: a peer that says nothing for half a second is gone.
   */
  async boot(number: number, images: string): Promise<Guest> {
    const args = Guest.arguments(number, `link${number}`, images, this.directory)
    const guest = new Guest(number, this.start('nice', ['-n', '-10', 'qemu-system-x86_64', ...args], dayMs))
    await guest.ready(this.directory)
    this.#guests.set(number, guest)
    return guest
  }

  /** Starts a program of this side. */
  start(command: string, args: readonly string[], timeLimitMs = 30_000): Program {
    const program = new Program('ip', ['netns', 'exec', this.namespace, command, ...args], timeLimitMs)
    this.#programs.push(program)
    return program
  }

  async run(command: string, args: readonly string[], timeLimitMs = 30_000): Promise<Outcome> {
    return await this.start(command, args, timeLimitMs).ended
  }

  /** Waits until something on this side listens on a TCP port. */
  async listens(port: number, timeLimitMs = 10_000): Promise<void> {
    const hex = port.toString(16).toUpperCase().padStart(4, '0')
    const search = `until grep -q ':${hex} .* 0A ' /proc/net/tcp /proc/net/tcp6; do sleep 0.05; done`
    const { code } = await this.run('bash', ['-c', search], timeLimitMs)
    if (code !== 0) throw new Error(`nothing listens on port ${port}`)
  }

  /** Waits until an adapter of this side has the port of RoCEv2, UDP 4791, on an address. */
  async receives(address: string, timeLimitMs = 20_000): Promise<void> {
    const hex = procAddress(address)
    const search = `until grep -q ' ${hex}:12B7 ' /proc/net/udp /proc/net/udp6; do sleep 0.05; done`
    const { code } = await this.run('bash', ['-c', search], timeLimitMs)
    if (code !== 0) throw new Error(`no adapter has ${address}`)
  }

  /** Waits until something on this side is in a multicast group of IPv4. */
  async joined(group: string, timeLimitMs = 20_000): Promise<void> {
    const search = `until grep -qw ${procAddress(group)} /proc/net/igmp; do sleep 0.05; done`
    const { code } = await this.run('bash', ['-c', search], timeLimitMs)
    if (code !== 0) throw new Error(`nobody joined ${group}`)
  }

  /**
   * Captures the RoCE packets of a guest's link as the guest gets and sends them. VERBENA_CAPTURES names a directory where
   * the files stay.
   */
  async capture(guest: number, name = `link${guest}`): Promise<Capture> {
    const directory = process.env.VERBENA_CAPTURES ?? this.directory
    mkdirSync(directory, { recursive: true })
    const path = join(directory, `${name}.pcap`)
    // Each slot of the ring has room for the longest packet; the default of 256 KiB would leave 256 slots, too few.
    const ring = ['--immediate-mode', '-s', `${mtu + ethernetHeader}`, '-B', '65536']
    const args = ['-i', `link${guest}`, '-w', path, '-U', ...ring, '-Z', 'root']
    const program = this.start('tcpdump', [...args, 'udp', 'port', '4791'], dayMs)
    return await Capture.begin(path, program)
  }

  async close(): Promise<void> {
    for (const program of this.#programs) await program.stop('SIGTERM')
    this.#keeper.child.stdin?.end()
    const { code, output } = await this.#keeper.ended
    rmSync(this.directory, { recursive: true, force: true })
    if (code !== 0) throw new Error(`the namespace ${this.namespace} was not removed: ${output}`)
  }
}
