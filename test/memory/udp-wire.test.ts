/**
 * What a UDP socket's packets look like on the wire: the identification of IPv4, which a RoCEv2 ICRC covers. Seen by a
 * packet socket on the loopback of a network of its own, in which the kernel cuts segments before the wire, as for an
 * adapter that cannot: a setting of the loopback that everyone uses would disturb others.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/native/index.ts'

const setUp = 'ip link set lo up && ip link set lo gso_max_segs 1'
let missing = nativeAvailable ? '' : 'needs koffi'
try {
  execFileSync('unshare', ['-n', 'sh', '-c', setUp], { stdio: 'pipe' })
} catch {
  missing = 'needs root, unshare and ip'
}

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'verbena-udp-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const nativeUrl = (name: string): string =>
  JSON.stringify(new URL(`../../src/memory/native/${name}`, import.meta.url).href)

const program = `import { UdpSocket } from ${nativeUrl('index.ts')}
import { libc, nativeScratch } from ${nativeUrl('libc.ts')}
const AF_PACKET = 17, SOCK_RAW_NONBLOCK = 0o4003, ETH_P_IP = 0x0008
const raw = libc.socket(AF_PACKET, SOCK_RAW_NONBLOCK, ETH_P_IP)
const frame = nativeScratch(4096)
const socket = UdpSocket.open(new ArrayBuffer(65536), { address: Uint8Array.of(127, 0, 0, 1), port: 0 })
const to = socket.destination(Uint8Array.of(127, 0, 0, 2), 4791)
const seen = []
for (const [length, segment, offload] of JSON.parse(process.argv[2])) {
  socket.segmentation = offload
  const packets = []
  const sent = socket.send(0, length, segment, to)
  for (let n; (n = libc.read(raw, frame.address, 4096)) > 0; ) {
    const ip = frame.u8.subarray(14, n)
    // Identification, DF and fragment offset, UDP payload.
    if (ip[9] === 17) packets.push([ip[4] << 8 | ip[5], ip[6] << 8 | ip[7], (ip[24] << 8 | ip[25]) - 8].join())
  }
  seen.push([sent, packets])
}
console.log(JSON.stringify(seen))
`

it.skipIf(missing !== '')(
  `identification is 0, and 0, 1, 2, … in segments${missing && ` (skipped: ${missing})`}`,
  () => {
    const file = join(folder, 'program.mjs')
    writeFileSync(file, program)
    const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href
    const calls = [
      [100, 0, true],
      [100, 0, true],
      [2500, 500, true],
      [2400, 500, true],
      [100, 500, true],
      [1500, 500, false],
    ]
    const output = execFileSync(
      'unshare',
      [
        ...['-n', 'sh', '-c', `${setUp} && exec "$0" --import "$1" "$2" "$3"`],
        ...[process.execPath, tsx, file, JSON.stringify(calls)],
      ],
      { encoding: 'utf8' },
    )
    const packets = (length: number, identifications: number[], last = length): string[] =>
      identifications.map((id, i) => [id, 0x4000, i === identifications.length - 1 ? last : length].join())
    expect(JSON.parse(output)).toEqual([
      [100, packets(100, [0])],
      [100, packets(100, [0])],
      [2500, packets(500, [0, 1, 2, 3, 4])],
      [2400, packets(500, [0, 1, 2, 3, 4], 400)],
      [100, packets(100, [0])],
      [1500, packets(500, [0, 0, 0])],
    ])
  },
)
