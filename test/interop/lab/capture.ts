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

  constructor(path: string, program: Program) {
    this.path = path
    this.#program = program
  }

  /** Ends the capture and gives its packets; fails when the capture itself lost some. */
  async stop(): Promise<Packet[]> {
    for (let attempt = 1; attempt <= settleAttempts; attempt++) {
      await delay(settleMs)
      // Says "N packets captured, N packets received by filter, 0 packets dropped by kernel".
      this.#program.child.kill('SIGUSR1')
      await delay(settleMs)
      if (isWhole(this.#program.output)) break
    }
    const { output } = await this.#program.stop('SIGINT')
    if (!isWhole(output)) throw new Error(`the capture is not complete: ${output}`)
    return readPackets(readFileSync(this.path))
  }
}

/** The newest figures of tcpdump. */
function isWhole(output: string): boolean {
  const newest = (what: string): number =>
    Number([...output.matchAll(new RegExp(`(\\d+) packets? ${what}`, 'g'))].at(-1)?.[1] ?? Number.NaN)
  return newest('captured') === newest('received by filter') && newest('dropped by kernel') === 0
}

/**
 * Over IPv6 Linux and adapters leave the UDP checksum 0, as RoCEv2 allows because it has a CRC of its own; in the view of
 * tshark's UDP dissector that is illegal.
 */
const zeroChecksum = 'Illegal checksum value (0)'

/** What tshark objects to in a capture: malformed packets and errors, one line for each. Empty when all is well. */
export async function tsharkObjections(path: string): Promise<string[]> {
  const wanted = '_ws.malformed || _ws.expert.severity == "Error" || !infiniband'
  const fields = ['-T', 'fields', '-e', 'frame.number', '-e', '_ws.col.Info', '-e', '_ws.expert.message']
  const output = await runProgram('tshark', ['-n', '-r', path, '-Y', wanted, ...fields], 60_000)
  return output.split('\n').filter((line) => line !== '' && line.split('\t')[2] !== zeroChecksum)
}
