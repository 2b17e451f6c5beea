/**
 * Debian's infiniband-diags and opensm, unmodified, under `verbena run`: what they print is compared with what the adapter has.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDevice } from '../../src/index.ts'
import { type Ended, start } from './launchers.ts'

const verbena = new URL('../../dist/verbena.js', import.meta.url).pathname
const has = (program: string): boolean => spawnSync('which', [program]).status === 0
const lacking = ['ibstat', 'smpquery', 'perfquery', 'ibping', 'saquery', 'opensm', 'ibv_rc_pingpong'].filter(
  (program) => !has(program),
)
if (lacking.length > 0) console.warn(`skipped: management under \`verbena run\` needs ${lacking.join(', ')}`)
const there = test.skipIf(lacking.length > 0)

const segment = `run-umad-${process.pid}`
/** Both adapters; while they are open here, they stay what they are. */
const contexts = [0, 1].map((index) => openDevice(`shm:${segment}/${index}`))
const guids = contexts.map((context) => context.queryDevice().nodeGuid.toString(16).padStart(16, '0'))
const folder = mkdtempSync(join(tmpdir(), 'verbena-run-umad-'))
beforeAll(() => {
  process.env.OSM_TMP_DIR = folder
  process.env.OSM_CACHE_DIR = folder
})
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
  rmSync(`/dev/shm/verbena-${segment}`, { force: true })
})

const run = (command: string, index = 0): Promise<Ended> =>
  start(process.execPath, [verbena, 'run', '--device', `shm:${segment}/${index}`, '--', 'sh', '-c', command]).ended
/** What a command prints that ends well. */
async function printed(command: string, index = 0): Promise<string> {
  const { code, stdout, stderr } = await run(command, index)
  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' })
  return stdout
}
const xmitPkts = (text: string): number[] => [...text.matchAll(/PortXmitPkts:\.*(\d+)/g)].map(([, n]) => Number(n))

there('ibstat, ibstatus and ibaddr show the port', async () => {
  const stdout = await printed('ibstat; ibstat -l; ibstat -p; ibstatus rxe0:1; ibaddr')
  for (const line of [`Node GUID: 0x${guids[0]}`, 'State: Active', 'Base lid: 1', 'Link layer: InfiniBand', '\nrxe0\n'])
    expect(stdout).toContain(line)
  expect(stdout).toMatch(/state:\s+4: ACTIVE/)
  expect(stdout).toMatch(/LID start 0x1 end 0x1/)
})

there('smpquery by LID and by directed route', async () => {
  const stdout = await printed(`
    smpquery nodeinfo 1; smpquery -D nodeinfo 0,1; smpquery nodeinfo 2
    smpquery nodedesc 1; smpquery portinfo 1 1; smpquery pkeys 1`)
  expect([...stdout.matchAll(/^Guid:\.*0x(\w+)/gm)].map(([, guid]) => guid)).toEqual([guids[0], guids[1], guids[1]])
  expect(stdout).toMatch(/Node Description:\.*shm:run-umad-\d+\/0/)
  expect(stdout).toMatch(/^Lid:\.*1$/m)
  expect(stdout).toMatch(/^LinkState:\.*Active$/m)
  expect(stdout).toMatch(/^ +0: 0xffff 0x0000/m)
})

there('what no adapter has fails as on one of the kernel', async () => {
  const { stdout, stderr } = await run(`
    smpquery switchinfo 1; smpquery -D nodeinfo 0,2; smpquery -t 200 -D nodeinfo 0,1,1; smpquery -t 200 nodeinfo 9
    sminfo; saquery -t 300`)
  expect(stdout).toMatch(/switch info query failed/)
  expect(stderr).toMatch(/send failed; Invalid argument/)
  // Whose clock is first, the program's or the port's, decides what it says besides.
  for (const lost of ['0,1,1', 'Lid 9']) expect(stderr).toMatch(new RegExp(`_do_madrpc failed; dport \\(.*${lost}\\)`))
  expect(stdout).toMatch(/sminfo: iberror: failed: query/)
  expect(stderr).toMatch(/Query SA failed: Connection timed out/)
})

there('ibnetdiscover and iblinkinfo see both adapters and their cable', async () => {
  const stdout = await printed('ibnetdiscover; iblinkinfo; ibhosts')
  expect(stdout).toMatch(new RegExp(`\\[1\\]\\(${guids[1]!.replace(/^0+/, '')}\\)\\s+"H-${guids[0]}"\\[1\\]`))
  expect(stdout.match(/LinkUp\)==>/g)).toHaveLength(2)
  expect(stdout).toContain(`Ca\t: 0x${guids[1]} ports 1`)
})

there('perfquery counts the messages of programs, and resets them', async () => {
  const port = 21_000 + (process.pid % 1000) * 8 + 7
  const hex = port.toString(16).toUpperCase()
  const stdout = await printed(`
    perfquery -R; perfquery -x
    ibv_rc_pingpong -e -n 150 -p ${port} > ${folder}/server & server=$!
    until grep -qs ':${hex} 0*:0000 0A' /proc/net/tcp /proc/net/tcp6; do kill -0 $server || exit 99; sleep 0.02; done
    ibv_rc_pingpong -e -n 150 -p ${port} localhost > ${folder}/client && wait $server
    perfquery -x; perfquery -r; perfquery; echo "file: $(cat /sys/class/infiniband/rxe0/ports/1/counters/port_xmit_packets)"`)
  expect(xmitPkts(stdout)).toEqual([0, 300, 300, 0])
  // Each attribute is reset for itself; the file has the wide one.
  expect(stdout).toContain('file: 300')
  expect(stdout).toMatch(/PortXmitData:\.*(3\d{5})$/m)
})

there('ibping between programs of one run, and a second server is rejected', async () => {
  const stdout = await printed(`
    ibping -S & server=$!
    until ibping -c 1 1 | grep -q ' 1 received'; do kill -0 $server || exit 99; done
    ibping -S > ${folder}/second 2>&1 && exit 98
    ibping -c 2 1; kill $server`)
  expect(stdout).toMatch(/2 packets transmitted, 2 received, 0% packet loss/)
  expect(readFileSync(join(folder, 'second'), 'utf8')).toMatch(/can't serve class 50/)
})

there('opensm brings up the subnet, and programs of another run ask it', async () => {
  // LIDs that it has given to ports of another segment: without -r it would look for those of this one under 3 and 4.
  writeFileSync(join(folder, 'guid2lid'), '0x1111111111111111 0x0001 0x0001\n\n0x1111111111111112 0x0002 0x0002\n\n')
  const sm = start(process.execPath, [
    ...[verbena, 'run', '--device', `shm:${segment}`, '--'],
    // It writes its log at once, and forgets what it remembers of other segments.
    ...['opensm', '-r', '-d', '2', '-e', '-f', join(folder, 'opensm.log')],
  ])
  try {
    await expect
      .poll(() => readFileSync(join(folder, 'opensm.log'), { encoding: 'utf8', flag: 'a+' }), { timeout: 20_000 })
      .toMatch(/SUBNET UP/)
    const stdout = await printed('sminfo; saquery -N; saquery --src-to-dst 1:2; saquery -s', 1)
    expect(stdout).toMatch(new RegExp(`sm lid 1 sm guid 0x${guids[0]!.replace(/^0+/, '')}.*SMINFO_MASTER`))
    expect([...stdout.matchAll(/port_guid\.*0x(\w+)/g)].map(([, guid]) => guid).sort()).toEqual([...guids].sort())
    expect(stdout).toMatch(/dlid\.*2$/m)
    expect(stdout).toMatch(/EndPortLid\.*1$/m)
  } finally {
    sm.child.kill('SIGTERM')
  }
  await sm.ended
})
