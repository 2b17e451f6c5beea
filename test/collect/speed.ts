/**
 * How many packets a second `verbena collect trace` captures: `npx tsx test/collect/speed.ts [packets/s] [seconds] [file]`, as root.
 * In a network namespace with a pair of veth interfaces a thread of the kernel's UDP sends datagrams of 20 bytes (frames of 62) to
 * port 4791, 64 with each call (UDP_SEGMENT), at that rate; tcpdump, if it is installed, captures beside. Run `npm run build` first.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as after } from 'node:timers/promises'
import { nowNs, UdpSocket } from '../../src/memory/index.ts'
import { command } from '../built.ts'

const [perSecond = '1000000', seconds = '4', file = 'speed.pcap', role = 'outside'] = process.argv.slice(2)
const datagramBytes = 20
const datagrams = 64

function shell(script: string): void {
  const { status, stderr } = spawnSync('sh', ['-ec', script], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${script}: ${stderr}`)
}

/** Sends as many as are due, again and again. */
function send(): number {
  const memory = new SharedArrayBuffer(65_536)
  const bytes = new Uint8Array(memory)
  for (let i = 0; i < datagrams; i++) bytes[i * datagramBytes] = 4
  const socket = UdpSocket.open(memory, { address: Uint8Array.of(10, 9, 0, 1), port: 0 })
  const to = socket.destination(Uint8Array.of(10, 9, 0, 2), 4791)
  const startNs = nowNs()
  let sent = 0
  for (let ns = 0; ns < Number(seconds) * 1e9; ns = nowNs() - startNs) {
    if (sent >= (ns / 1e9) * Number(perSecond)) continue
    const n = socket.send(0, datagrams * datagramBytes, datagramBytes, to)
    if (n > 0) sent += n / datagramBytes
  }
  socket.close()
  return sent
}

function gathered(stream: Readable): { text: string } {
  const all = { text: '' }
  stream.on('data', (chunk: Buffer) => {
    all.text += chunk.toString()
  })
  return all
}

async function until(check: () => boolean): Promise<void> {
  while (!check()) await after(20)
}

async function inside(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'verbena-speed-'))
  shell(`ip link add v0 type veth peer name v1; ip link set v0 gso_max_segs 1 up; ip link set v1 up
    ip addr add 10.9.0.1/24 dev v0; ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev v0`)
  const path = join(folder, file)
  const ours = spawn(process.execPath, [command, 'collect', 'trace', '-i', 'v1', '-w', path, '--json'])
  const said = gathered(ours.stderr)
  const printed = gathered(ours.stdout)
  await until(() => /Capturing/.test(said.text))
  const beside = spawnSync('tcpdump', ['--version']).error === undefined
  const dump = beside
    ? spawn('tcpdump', [
        '-i',
        'v1',
        '-B',
        '65536',
        '-Z',
        'root',
        '-w',
        join(folder, 'peer.pcap'),
        'udp',
        'port',
        '4791',
      ])
    : undefined
  const theirs = dump ? gathered(dump.stderr) : { text: '' }
  if (dump) await until(() => /listening/.test(theirs.text))
  const began = process.cpuUsage()
  const sent = send()
  const cpu = process.cpuUsage(began)
  await after(500)
  const stat = readFileSync(`/proc/${ours.pid}/stat`, 'utf8').split(' ')
  ours.kill('SIGINT')
  dump?.kill('SIGINT')
  await Promise.all([once(ours, 'close'), dump && once(dump, 'close')])
  const result = JSON.parse(printed.text) as { packets: number; interfaces: { dropped: number }[] }
  const cpuSeconds = (Number(stat[13]) + Number(stat[14])) / 100
  console.log(
    `sent      ${sent} in ${seconds} s: ${Math.round(sent / Number(seconds))} packets/s (${(cpu.system / 1e6).toFixed(1)} s in the kernel)`,
  )
  console.log(
    `captured  ${result.packets}, ${result.interfaces[0]!.dropped} dropped, ${statSync(path).size} bytes, ${cpuSeconds.toFixed(1)} s of processor`,
  )
  if (dump) console.log(`tcpdump   ${theirs.text.split('\n').slice(1).join(', ')}`)
  rmSync(folder, { recursive: true, force: true })
}

if (role === 'inside') await inside()
else {
  const args = ['-n', process.execPath, '--import', 'tsx', import.meta.filename, perSecond, seconds, file, 'inside']
  const { status } = spawnSync('unshare', args, { stdio: 'inherit' })
  process.exitCode = status ?? 1
}
