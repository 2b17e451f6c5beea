/** A running capture, and what an independent reader of packets finds in it. */
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { type Packet, readPackets } from './packets.ts'
import { type Program, runProgram } from './program.ts'

/** After the last packet the file may be a moment behind. */
const settleMs = 200

export class Capture {
  readonly path: string
  readonly #program: Program

  constructor(path: string, program: Program) {
    this.path = path
    this.#program = program
  }

  /** Ends the capture and gives its packets; fails when the capture itself lost some. */
  async stop(): Promise<Packet[]> {
    await delay(settleMs)
    const { output } = await this.#program.stop('SIGINT')
    const count = (what: RegExp): number => Number(what.exec(output)?.[1] ?? Number.NaN)
    const lost = count(/(\d+) packets? dropped by kernel/)
    if (lost !== 0 || count(/(\d+) packets? captured/) !== count(/(\d+) packets? received by filter/))
      throw new Error(`the capture is not complete: ${output}`)
    return readPackets(readFileSync(this.path))
  }
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
