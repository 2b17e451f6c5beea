/** A running capture, and what an independent reader of packets finds in it. */
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { type Packet, readPackets } from './packets.ts'
import { type Program, runProgram } from './program.ts'

/** After the last packet tcpdump may be a moment behind. */
const settleMs = 100
const settleAttempts = 50

export class Capture {
  readonly path: string
  readonly #program: Program
  /** What came before tcpdump had its filter, of any kind: that counts as received. */
  readonly #early: number

  private constructor(path: string, program: Program, early: number) {
    this.path = path
    this.#program = program
    this.#early = early
  }

  /** Of a tcpdump that has just begun to listen, while nothing is sent. */
  static async begin(path: string, program: Program): Promise<Capture> {
    await program.says('listening on', 10_000)
    await sayFigures(program)
    return new Capture(path, program, behind(program.output))
  }

  /** Ends the capture and gives its packets; fails when the capture itself lost some. */
  async stop(): Promise<Packet[]> {
    for (let attempt = 1; attempt <= settleAttempts; attempt++) {
      await delay(settleMs)
      await sayFigures(this.#program)
      if (this.#isWhole(this.#program.output)) break
    }
    const { output } = await this.#program.stop('SIGINT')
    if (!this.#isWhole(output)) throw new Error(`the capture is not complete: ${output}`)
    return readPackets(readFileSync(this.path))
  }

  #isWhole(output: string): boolean {
    return behind(output) <= this.#early && newest(output, 'dropped by kernel') === 0
  }
}

/** It says "N packets captured, N packets received by filter, 0 packets dropped by kernel". */
async function sayFigures(tcpdump: Program): Promise<void> {
  const from = tcpdump.output.length
  tcpdump.child.kill('SIGUSR1')
  await tcpdump.says('dropped by kernel', 10_000, from)
}

/** How many packets were received and not captured, or not yet. */
function behind(output: string): number {
  return newest(output, 'received by filter') - newest(output, 'captured')
}

/** The newest of a figure of tcpdump. */
function newest(output: string, what: string): number {
  return Number([...output.matchAll(new RegExp(`(\\d+) packets? ${what}`, 'g'))].at(-1)?.[1] ?? Number.NaN)
}

/**
 * Over IPv6 Linux and adapters leave the UDP checksum 0, as RoCEv2 allows because it has a CRC of its own; in the view of
 * tshark's UDP dissector that is illegal.
 */
const zeroChecksum = 'Illegal checksum value (0)'
/** It takes the first bytes of messages for those of protocols that they have never heard of: RPC, an Ethertype, an Ethernet frame. */
export const guessedProtocols: RegExp = /:infiniband:(?!data\b)/

/** What tshark objects to in a capture: malformed packets and errors, one line for each. Empty when all is well. */
export async function tsharkObjections(path: string): Promise<string[]> {
  const wanted = '_ws.malformed || _ws.expert.severity == "Error" || !infiniband'
  const fields = ['frame.number', '_ws.col.Info', '_ws.expert.message', 'frame.protocols']
  const args = ['-n', '-r', path, '-Y', wanted, '-T', 'fields', ...fields.flatMap((field) => ['-e', field])]
  const output = await runProgram('tshark', args, 60_000)
  return output.split('\n').filter((line) => {
    const [, , message, protocols] = line.split('\t')
    return line !== '' && message !== zeroChecksum && !guessedProtocols.test(protocols!)
  })
}
