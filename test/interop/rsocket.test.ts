/**
 * Sockets with Linux: the programs on rsockets of librdmacm against ours, in both roles, with and without losses; and
 * programs that know nothing of RDMA: curl and netcat under librspreload.so, and a server under verbena/preload.
 */
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { RcopyResult } from '../../src/tools/rcopy/run.ts'
import type { StreamResult } from '../../src/tools/rs-kit/stream.ts'
import {
  type Case,
  type Family,
  families,
  images,
  impairmentOf,
  judge,
  outputs,
  type Played,
  type Role,
  roles,
  there,
  useStage,
} from './encounter.ts'
import { ours } from './lab/index.ts'

const programs = ['rstream', 'riostream', 'rcopy', 'curl', 'nc.traditional']
const streamPort = 7471
const rcopyPort = 7427
const preload = 'LD_PRELOAD=/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so'

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

describe.skipIf(images === null)('rsockets against Linux', () => {
  const stage = useStage(programs)
  const device = (family: Family): string[] => ['--device', `roce:${ours[family]}`, '--json']

  /** Judges what holds of every meeting, and that there was one connection, over which something went both ways. */
  function judgeStream(played: Played, family: Family): void {
    judge(played, family, stage().guest, { counted: false })
    const streams = played.trace.conversations.filter(({ service }) => service === 'RC')
    expect(streams.length).toBe(1)
    for (const { messages } of streams[0]!.directions) expect(messages.write + messages.send).toBeGreaterThan(0)
    expect(streams[0]!.directions.length).toBe(2)
  }

  async function stream(tool: 'rstream' | 'riostream', kase: Case): Promise<void> {
    const { role, family, lossPercent } = kase
    const address = (role === 'client' ? there : ours)[family]
    const [messages, size] = lossPercent > 0 ? [20, 5000] : [30, 70_000]
    const common = ['-C', `${messages}`, '-S', `${size}`, '-T', 'v']
    const [server, client] = [
      ['-b', address],
      ['-s', address],
    ]
    const played = await stage().play({
      name: `${tool}-${role}-${family}-${lossPercent}`,
      role,
      mine: [tool, ...device(family), ...common, ...(role === 'client' ? client : server)],
      theirs: [tool, ...common, ...(role === 'client' ? server : client)].join(' '),
      impairment: impairmentOf(kase),
      ready: async () => await stage().reachable(kase, 'TCP', streamPort),
      // A goodbye that is lost is sent again after two seconds.
      patienceMs: 12_000,
    })
    expect(played.mine.code, outputs(played)).toBe(0)
    const result = JSON.parse(played.mine.stdout) as StreamResult
    expect(result).toMatchObject({ tool, role })
    expect(result.failure).toBeUndefined()
    judgeStream(played, family)
    if (lossPercent > 0) return
    expect(played.theirs.code, outputs(played)).toBe(0)
    expect(played.theirs.output).toMatch(new RegExp(`custom +\\S+ +${messages} +1 +`))
  }

  /** The file goes to the guest or comes from there. The original knows IPv4 only. */
  async function rcopy(role: Role, lossPercent: number): Promise<void> {
    const family = 'ipv4'
    const kase = { role, family, lossPercent } as const
    const bytes = lossPercent > 0 ? 200_003 : 2_000_003
    const directory = join(stage().lab.directory, `rcopy-${role}-${family}-${lossPercent}`)
    mkdirSync(directory)
    const file = join(directory, 'file')
    let checksum = ''
    if (role === 'client') {
      const content = randomBytes(bytes)
      writeFileSync(file, content)
      checksum = sha256(content)
    } else {
      const made = `head -c ${bytes} /dev/urandom > /tmp/file; sha256sum < /tmp/file`
      checksum = (await stage().guest.text(made)).split(' ')[0]!
    }
    const played = await stage().play({
      name: `rcopy-${role}-${family}-${lossPercent}`,
      role,
      mine: [
        'rcopy',
        ...device(family),
        ...(role === 'client' ? [file, `${there.ipv4}:/tmp/copy`] : ['--dir', directory]),
      ],
      theirs: role === 'client' ? 'rcopy' : `rcopy /tmp/file ${ours.ipv4}:copy`,
      impairment: impairmentOf(kase),
      ready: async () => await stage().reachable(kase, 'TCP', rcopyPort),
      patienceMs: 1_000,
    })
    const result = JSON.parse(played.mine.stdout) as RcopyResult
    expect(result.files, outputs(played)).toMatchObject([{ bytes }])
    // A server goes on: it was stopped.
    if (role === 'client') expect(played.mine.code, outputs(played)).toBe(0)
    else expect(played.theirs.code, outputs(played)).toBe(0)
    judgeStream(played, family)
    const copy =
      role === 'client'
        ? (await stage().guest.text('sha256sum < /tmp/copy')).split(' ')[0]
        : sha256(readFileSync(join(directory, 'copy')))
    expect(copy).toBe(checksum)
  }

  describe('without loss', () => {
    for (const role of roles) {
      for (const family of families) {
        const kase = { role, family, lossPercent: 0 }
        it(`rstream, ours the ${role}, ${family}`, async () => await stream('rstream', kase))
        it(`riostream, ours the ${role}, ${family}`, async () => await stream('riostream', kase))
      }
      it(`rcopy, ours the ${role}`, async () => await rcopy(role, 0))
    }
  })

  describe('with 3 % of the packets lost in each direction', { timeout: 90_000 }, () => {
    for (const [role, family] of [
      ['client', 'ipv6'],
      ['server', 'ipv4'],
    ] as const) {
      const kase = { role, family, lossPercent: 3 }
      it(`rstream, ours the ${role}, ${family}`, async () => await stream('rstream', kase))
      it(`riostream, ours the ${role}, ${family}`, async () => await stream('riostream', kase))
      it(`rcopy, ours the ${role}`, async () => await rcopy(role, 3))
    }
  })

  describe('programs that know nothing of RDMA', () => {
    const mebibyte = 1 << 20

    for (const [family, bytes, lossPercent] of [
      ['ipv4', 10 * mebibyte, 0],
      ['ipv6', mebibyte, 3],
    ] as const) {
      const title = `curl under librspreload fetches ${bytes / mebibyte} MiB from an HTTP server under verbena/preload, ${family}`
      it(lossPercent > 0 ? `${title}, ${lossPercent} % lost` : title, { timeout: 90_000 }, async () => {
        const port = 8080
        const program = fileURLToPath(new URL('./programs/http-server.mjs', import.meta.url))
        const address = ours[family]
        const host = family === 'ipv6' ? `[${address}]` : address
        const played = await stage().play({
          name: `curl-${family}-${lossPercent}`,
          role: 'server',
          node: true,
          mine: ['--import', 'verbena/preload', program, address, `${port}`, `${bytes}`],
          environment: { VERBENA_DEVICE: `roce:${address}`, VERBENA_PRELOAD: '* rdma-only', VERBENA_PRELOAD_LOG: '1' },
          theirs: `${preload} curl -gsS http://${host}:${port}/ -o /tmp/got && sha256sum < /tmp/got`,
          impairment: impairmentOf({ lossPercent }),
          ready: async () => await stage().lab.receives(address),
          patienceMs: 0,
        })
        expect(played.theirs.code, outputs(played)).toBe(0)
        expect(played.theirs.output.split(' ')[0]).toBe(played.mine.stdout.trim())
        expect(played.mine.output).toMatch(/^verbena: accept .*: RDMA$/m)
        judgeStream(played, family)
        const [sent] = played.trace.conversations
          .flatMap(({ directions }) => directions)
          .filter(({ source, bytes: payload }) => source === address && payload > bytes)
        expect(sent, 'the body went over RC').toBeDefined()
      })
    }

    it('a client by verbena/net talks with netcat under librspreload', { timeout: 90_000 }, async () => {
      const port = 9000
      const [mine, theirs] = [100_001, 300_001]
      const program = fileURLToPath(new URL('./programs/net-client.mjs', import.meta.url))
      const made = await stage().guest.text(`head -c ${theirs} /dev/urandom > /tmp/said; sha256sum < /tmp/said`)
      // Two seconds after all is said it hangs up.
      const netcat = `nc.traditional -n -q 2 -l -s ${there.ipv4} -p ${port} < /tmp/said > /tmp/heard`
      const played = await stage().play({
        name: 'netcat',
        role: 'client',
        node: true,
        mine: [program, `roce:${ours.ipv4}`, there.ipv4, `${port}`, `${mine}`],
        theirs: `${preload} ${netcat}; sha256sum < /tmp/heard`,
        ready: async () => await stage().guest.listensCm('TCP', port),
      })
      expect(played.mine.code, outputs(played)).toBe(0)
      const { remoteAddress, remotePort, sent, count, heard } = JSON.parse(played.mine.stdout)
      expect({ remoteAddress, remotePort, count }).toEqual({
        remoteAddress: there.ipv4,
        remotePort: port,
        count: theirs,
      })
      expect(heard).toBe(made.split(' ')[0])
      expect(played.theirs.output.split('\n').map((line) => line.split(' ')[0])).toContain(sent)
      judgeStream(played, 'ipv4')
    })
  })
})
