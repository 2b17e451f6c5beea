/** A Soft-RoCE guest: a machine of QEMU, commands in it, its counters, and what its link does to packets. */
import { createConnection, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { gidText, guestAddresses, guestMac, type HostAddresses, mtu } from './addresses.ts'
import { type Impairment, impairCommands, parseDrops } from './impairment.ts'
import { type Program, tail } from './program.ts'

export interface GuestOutcome {
  /** Exit code; 124 when the time limit ended it, 128 + signal when a signal did. */
  code: number
  output: string
}

/** A command that runs in a guest. */
export interface Job {
  ended: Promise<GuestOutcome>
  /** Ends it, with all that it started, by a signal. */
  stop(signal?: 'INT' | 'TERM' | 'KILL'): Promise<GuestOutcome>
}

export type Counters = Record<string, number>

const commandPorts = 6
const bootTimeLimitMs = 90_000

export class Guest {
  readonly number: number
  readonly addresses: HostAddresses
  readonly #machine: Program
  readonly #free: CommandPort[] = []
  readonly #ports: CommandPort[] = []
  #waiting: ((port: CommandPort) => void)[] = []
  #nextTag = 1

  constructor(number: number, machine: Program) {
    this.number = number
    this.addresses = guestAddresses(number)
    this.#machine = machine
  }

  /** Arguments of QEMU for a guest on the tap device `link`, with command ports in `directory`. */
  static arguments(number: number, link: string, images: string, directory: string): string[] {
    const { ipv4, ipv6 } = guestAddresses(number)
    const options = `verbena.mtu=${mtu} verbena.address=${ipv4}/24 verbena.address=${ipv6}/64`
    const mac = guestMac(number)
    const ports = Array.from({ length: commandPorts }, (_, i) => [
      ...['-chardev', `socket,id=port${i},path=${directory}/${number}.${i},server=on,wait=off`],
      ...['-device', `virtserialport,chardev=port${i},name=command.${i}`],
    ])
    return [
      ...['-machine', 'q35,accel=tcg', '-cpu', 'max', '-smp', '1', '-m', '512', '-nodefaults', '-no-user-config'],
      ...['-display', 'none', '-serial', 'stdio', '-monitor', 'none', '-no-reboot'],
      ...['-kernel', `${images}/kernel`, '-initrd', `${images}/initrd`],
      ...['-append', `console=ttyS0 quiet panic=-1 ${options}`],
      ...['-netdev', `tap,id=net,ifname=${link},script=no,downscript=no`],
      ...['-device', `virtio-net-pci,netdev=net,mac=${mac},host_mtu=${mtu},romfile=`],
      ...['-virtfs', 'local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap'],
      ...['-device', `virtio-serial-pci,max_ports=${commandPorts + 1}`],
      ...ports.flat(),
    ]
  }

  async ready(directory: string): Promise<void> {
    await this.#machine.says('guest: ready', bootTimeLimitMs)
    for (let i = 0; i < commandPorts; i++) {
      const port = await CommandPort.open(`${directory}/${this.number}.${i}`)
      this.#ports.push(port)
      this.#free.push(port)
    }
    await this.complaints()
    void this.#machine.ended.then(() => this.#closePorts('the guest has ended'))
  }

  get console(): string {
    return this.#machine.output
  }

  /** Starts a shell script in the guest. At most `commandPorts` run at the same time, others wait for their turn. */
  start(script: string, timeLimitMs = 30_000): Job {
    const tag = `${this.#nextTag++}`
    let under = true
    const ended = this.#lease().then(async (port) => {
      try {
        return await port.request(tag, Math.ceil(timeLimitMs / 1000), script, timeLimitMs + 30_000)
      } finally {
        under = false
        this.#release(port)
      }
    })
    ended.catch(() => {})
    const stop = async (signal = 'KILL'): Promise<GuestOutcome> => {
      if (under) {
        const pid = `/run/job/${tag}/pid`
        const await_ = `for i in 1 2 3 4 5 6 7 8 9 10; do [ -s ${pid} ] && break; sleep 0.1; done`
        await this.run(`${await_}; kill -${signal} -$(cat ${pid}) 2> /dev/null; true`)
      }
      return await ended
    }
    return { ended, stop }
  }

  /** Runs a shell script in the guest and gives its exit code and output. */
  async run(script: string, timeLimitMs = 30_000): Promise<GuestOutcome> {
    return await this.start(script, timeLimitMs).ended
  }

  /**
   * Mounts the host's files, as they are and read-only, with the guest's own /proc, /sys and /dev: `in-host COMMAND` runs there what is
   * installed here. What it writes goes to /run, and is gone with the guest.
   */
  async mountHost(): Promise<void> {
    await this.text(`
      set -e
      modprobe -a 9p 9pnet_virtio
      mkdir /host
      mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=512000 host /host
      for i in proc sys dev; do mount --bind /$i /host/$i; done
      mount -t tmpfs -o mode=1777 tmpfs /host/run
      mkdir -p -m 1777 /dev/shm
      echo '#!/bin/sh' > /usr/bin/in-host
      echo 'exec chroot /host /usr/bin/env PATH=${process.env.PATH} TMPDIR=/run HOME=/run "$@"' >> /usr/bin/in-host
      chmod 755 /usr/bin/in-host`)
  }

  /** The output of a script that has to succeed. */
  async text(script: string, timeLimitMs = 30_000): Promise<string> {
    const { code, output } = await this.run(script, timeLimitMs)
    if (code !== 0) throw new Error(`guest ${this.number}: \`${script}\` ended with ${code}:\n${tail(output)}`)
    return output
  }

  /** Repeats a script until it succeeds. */
  async until(script: string, timeLimitMs = 10_000): Promise<void> {
    const loop = `until ${script}; do sleep 0.05; done`
    const { code, output } = await this.run(loop, timeLimitMs)
    if (code !== 0) throw new Error(`guest ${this.number}: \`${script}\` did not come true: ${tail(output)}`)
  }

  /** Waits until something listens on a TCP port. */
  async listens(port: number): Promise<void> {
    const hex = port.toString(16).toUpperCase().padStart(4, '0')
    await this.until(`grep -q ':${hex} .* 0A ' /proc/net/tcp /proc/net/tcp6`)
  }

  /** Waits until something listens on a port of the RDMA CM. */
  async listensCm(space: 'TCP' | 'UDP' | 'IB', port: number): Promise<void> {
    await this.until(`rdma resource show cm_id | grep -q 'state LISTEN ps ${space} .*src-addr [^ ]*:${port}\\b'`)
  }

  /** What `/sys/class/infiniband/rxe0/ports/1/hw_counters` holds. */
  async counters(): Promise<Counters> {
    const output = await this.text('cd /sys/class/infiniband/rxe0/ports/1/hw_counters && grep . *')
    const lines = output.trim().split('\n')
    return Object.fromEntries(
      lines.map((line) => [line.split(':')[0]!, Number(line.split(':')[1])]).filter(([name]) => name !== 'lifespan'),
    )
  }

  /** Index of the GID that belongs to an address of the guest. */
  async gidIndex(address: string): Promise<number> {
    const found = await this.text(`cd /sys/class/infiniband/rxe0/ports/1/gids && grep -l '^${gidText(address)}' *`)
    return Number(found.trim())
  }

  /** What the kernel's RoCE driver complained about since the last call, "bad ICRC" for example. */
  async complaints(): Promise<string[]> {
    const output = await this.text("dmesg -c | grep -E 'rxe|ICRC|infiniband|BUG:|WARNING:|Oops' || true")
    return output.split('\n').filter((line) => line !== '' && !/loaded|set active|added eth0/.test(line))
  }

  /** Makes the guest's link lose, delay or reorder RoCE packets, in both directions; replaces what was there. */
  async impair(impairment: Impairment): Promise<void> {
    await this.clearImpairment()
    await this.text(impairCommands(impairment))
  }

  async clearImpairment(): Promise<void> {
    await this.text(
      'for i in eth0 ifb0; do tc qdisc del dev $i root; done 2> /dev/null; tc qdisc del dev eth0 ingress 2> /dev/null; true',
    )
  }

  /** RoCE packets that the impairment has dropped since it was made. */
  async drops(): Promise<{ fromGuest: number; toGuest: number }> {
    const [fromGuest, toGuest] = (
      await this.text('tc -s qdisc show dev eth0; echo ===; tc -s qdisc show dev ifb0')
    ).split('===')
    return { fromGuest: parseDrops(fromGuest!), toGuest: parseDrops(toGuest!) }
  }

  /** Switches it off, as a power failure does: nothing more comes from it, not even a goodbye. */
  async switchOff(): Promise<void> {
    await this.#machine.stop('SIGKILL')
  }

  async stop(): Promise<void> {
    await this.#machine.stop('SIGTERM')
  }

  #lease(): Promise<CommandPort> {
    const port = this.#free.shift()
    if (port) return Promise.resolve(port)
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #release(port: CommandPort): void {
    const next = this.#waiting.shift()
    if (next) next(port)
    else this.#free.push(port)
  }

  #closePorts(reason: string): void {
    for (const port of this.#ports) port.fail(`${reason}; its console said:\n${tail(this.console)}`)
  }
}

/** One of the guest's virtio ports, on which its agent answers one command after the other. */
class CommandPort {
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #pending: { tag: string; resolve(outcome: GuestOutcome): void; reject(error: Error): void } | null = null
  #failure: string | null = null

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk])
      this.#parse()
    })
    socket.on('error', (error) => this.fail(error.message))
    socket.on('close', () => this.fail('the command port was closed'))
  }

  static async open(path: string): Promise<CommandPort> {
    for (let attempt = 1; ; attempt++) {
      const socket = createConnection(path)
      const error = await new Promise<Error | null>((resolve) => {
        socket.once('connect', () => resolve(null))
        socket.once('error', resolve)
      })
      if (error === null) return new CommandPort(socket)
      if (attempt === 20) throw error
      await delay(100)
    }
  }

  request(tag: string, seconds: number, script: string, timeLimitMs: number): Promise<GuestOutcome> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== null) {
        reject(new Error(this.#failure))
        return
      }
      const timer = setTimeout(() => this.fail(`no answer within ${timeLimitMs} ms to: ${script}`), timeLimitMs)
      this.#pending = {
        tag,
        resolve: (outcome) => {
          clearTimeout(timer)
          resolve(outcome)
        },
        reject: (error) => {
          clearTimeout(timer)
          reject(error)
        },
      }
      this.#socket.write(`${tag} ${seconds} ${Buffer.from(script).toString('base64')}\n`)
    })
  }

  fail(reason: string): void {
    this.#failure ??= reason
    this.#socket.destroy()
    const pending = this.#pending
    this.#pending = null
    pending?.reject(new Error(reason))
  }

  #parse(): void {
    const end = this.#received.indexOf(10)
    if (end < 0 || this.#pending === null) return
    const [tag, code, bytes] = this.#received.toString('latin1', 0, end).split(' ')
    if (tag !== this.#pending.tag) {
      this.fail(`the guest answered '${this.#received.toString('latin1', 0, end)}' to command ${this.#pending.tag}`)
      return
    }
    const whole = end + 1 + Number(bytes)
    if (this.#received.length < whole) return
    const output = this.#received.toString('utf8', end + 1, whole)
    this.#received = this.#received.subarray(whole)
    const { resolve } = this.#pending
    this.#pending = null
    resolve({ code: Number(code), output })
  }
}
