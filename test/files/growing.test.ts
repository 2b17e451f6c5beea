import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { Direction, PcapngWriter } from '../../src/capture/index.ts'
import { growingSource } from '../../src/files/index.ts'

const root = mkdtempSync(join(tmpdir(), 'verbena-growing-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** A section: an interface, and packets that consist of one number each, which is the second that they are of, too. */
function section(name: string, numbers: readonly number[]): Uint8Array {
  const chunks: Uint8Array[] = []
  const writer = new PcapngWriter({ write: (bytes) => void chunks.push(bytes.slice()) }, { application: 'test' })
  const id = writer.addInterface({ name })
  for (const number of numbers)
    writer.packet(Uint8Array.of(number), 0, 1, 1_700_000_000 + number, 0, 1, id, {
      direction: number % 2 === 0 ? 'inbound' : 'outbound',
    })
  writer.close()
  return Buffer.concat(chunks)
}

interface Seen {
  packets: string[]
  damage: number
}

/** Reads a folder, in which a step is made whenever there is nothing to read; the last one ends it. */
async function read(folder: string, steps: (() => void)[]): Promise<Seen> {
  const packets: string[] = []
  const { damage } = await growingSource(folder, () => steps.length === 0).read(
    ({ bytes, offset, number, interfaceId, direction }, { interfaces }) => {
      const way = direction === Direction.Inbound ? 'in' : 'out'
      packets.push(`${number} ${interfaceId} ${interfaces[interfaceId]!.name} ${bytes[offset]} ${way}`)
      return undefined
    },
    { onIdle: () => steps.shift()?.() },
  )
  return { packets, damage: damage.count }
}

describe('captures that grow', () => {
  it('are one capture: files that come later, sections that follow, and blocks that are not whole yet', async () => {
    const folder = mkdtempSync(join(root, 'a-'))
    const [a, b] = [join(folder, 'a'), join(folder, 'b')]
    const more = section('a2', [5, 6])
    const seen = await read(folder, [
      () => writeFileSync(a, section('a1', [1, 2])),
      () => writeFileSync(b, section('b', [3])),
      () => appendFileSync(a, more.subarray(0, more.length - 7)),
      () => appendFileSync(a, more.subarray(more.length - 7)),
      () => appendFileSync(b, section('b', [8])),
    ])
    const packets = ['1 0 a1 1 out', '2 0 a1 2 in', '3 1 b 3 out', '4 2 a2 5 out', '5 2 a2 6 in', '6 1 b 8 in']
    expect(seen).toEqual({ packets, damage: 0 })
  })

  it('are read in the order of time, however much of one of them waits', async () => {
    const folder = mkdtempSync(join(root, 'c-'))
    const seen = await read(folder, [
      () => {
        writeFileSync(join(folder, 'a'), section('a', [3, 4, 9]))
        writeFileSync(join(folder, 'b'), section('b', [1, 6, 7]))
        writeFileSync(join(folder, 'c'), Buffer.concat([section('c1', [2]), section('c2', [8])]))
      },
      () => {},
    ])
    expect(seen.packets.map((text) => Number(text.split(' ')[3]))).toEqual([1, 2, 3, 4, 6, 7, 8, 9])
  })

  it('leave the rest of a file that holds something else, and say so', async () => {
    const folder = mkdtempSync(join(root, 'b-'))
    const seen = await read(folder, [
      () => writeFileSync(join(folder, 'a'), Buffer.concat([section('a', [1]), Buffer.alloc(40, 7)])),
      () => writeFileSync(join(folder, 'b'), section('b', [2])),
    ])
    expect(seen).toEqual({ packets: ['1 0 a 1 out', '2 1 b 2 in'], damage: 1 })
  })
})
