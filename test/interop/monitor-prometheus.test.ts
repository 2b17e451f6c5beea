/** A real Prometheus scrapes the monitor and its collector; promtool judges the text; every query of the Grafana dashboard is asked. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { PcapWriter } from '../../src/capture/index.ts'
import { fileSink } from '../../src/files/index.ts'
import { WireOpcode } from '../../src/wire/index.ts'
import { parsePrometheus } from '../gateway/api/prometheus.ts'
import { panelQueries } from '../monitor/dashboard.ts'
import { aeth, roceFrame } from '../trace/packets.ts'

const dir = mkdtempSync(join(tmpdir(), 'verbena-prometheus-'))
const cli = new URL('../../dist/verbena.js', import.meta.url).pathname
const token = '0123456789abcdef0123456789abcdef'
const tokenFile = join(dir, 'token')
writeFileSync(tokenFile, `${token}\n`)

const installed = ['prometheus', 'promtool'].every((name) => spawnSync(name, ['--version']).error === undefined)
const title = installed
  ? 'Prometheus'
  : 'prometheus is not installed: apt-get install --no-install-recommends prometheus'

const running: ChildProcess[] = []
afterAll(async () => {
  for (const child of running)
    if (child.exitCode === null && child.signalCode === null) {
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await gone
    }
  rmSync(dir, { recursive: true, force: true })
})

/** Starts a program, and resolves with what it says that matches. */
function started(command: string, args: string[], what: RegExp): Promise<{ child: ChildProcess; found: string }> {
  const child = spawn(command, args, { stdio: ['pipe', 'ignore', 'pipe'] })
  running.push(child)
  return new Promise((resolve, reject) => {
    let text = ''
    child.on('error', reject)
    child.on('exit', (code) => reject(new Error(`${command} ended with ${code}: ${text}`)))
    child.stderr!.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      const match = what.exec(text)
      if (match !== null) resolve({ child, found: match[1]! })
    })
  })
}

/** SENDs of a second with the n-th PSN left out, their ACKs, a READ; ended by one packet of the window after. */
function capture(windows: number): string {
  const file = join(dir, `${windows}.pcap`)
  const writer = new PcapWriter(fileSink(file))
  const ends = { source: '10.0.0.1', destination: '10.0.0.2', tos: 2 }
  const back = { source: '10.0.0.2', destination: '10.0.0.1', tos: 2 }
  for (let w = 0; w < windows; w++)
    for (let i = 0; i < 20; i++) {
      const psn = w * 100 + i + (i > 10 ? 1 : 0)
      const send = roceFrame({ ...ends, opcode: WireOpcode.RcSendOnly, destQp: 0xb, psn, payload: 64, ackReq: true })
      const ack = roceFrame({ ...back, opcode: WireOpcode.RcAck, destQp: 0xa, psn, extension: aeth(0x1f, 1) })
      for (const [n, frame] of [send, ack].entries())
        writer.packet(frame, 0, frame.length, 1_700_000_000 + w, i * 1e6 + n * 2000, frame.length)
    }
  writer.close()
  return file
}

async function scraped(url: string): Promise<string> {
  const answer = await fetch(url, { headers: { Authorization: `Bearer ${token}` } })
  expect(answer.status).toBe(200)
  return answer.text()
}

function judged(text: string): void {
  parsePrometheus(text)
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' })
}

interface Answer {
  status: string
  data: { result: { metric: Record<string, string>; value: [number, string] }[] }
}

describe.skipIf(!installed)(title, { timeout: 120_000 }, () => {
  it('scrapes a monitor and a collector, and answers every query of the dashboard', async () => {
    const windows = 5
    const file = capture(windows)
    const monitor = await started(
      process.execPath,
      [cli, 'monitor', '-', '--metrics', '127.0.0.1:0', '--metrics-no-token'],
      /metrics at (\S+)/,
    )
    const collector = await started(
      process.execPath,
      [cli, 'monitor', 'collector', '--listen', '0', '--token-file', tokenFile],
      /Collecting at (\S+);/,
    )
    const agent = spawnSync(process.execPath, [
      ...[cli, 'monitor', file, '--collector', collector.found, '--token-file', tokenFile, '--name', 'agent'],
    ])
    expect(agent.status, agent.stderr.toString()).toBe(0)
    // Standard input stays open, and the monitor with it: the last window waits for another packet.
    monitor.child.stdin!.write(readFileSync(file))
    const urls = [monitor.found, `${collector.found}/metrics`]
    const counted = async (url: string): Promise<number> =>
      parsePrometheus(await scraped(url)).get('verbena_monitor_windows_total')!.samples[0]!.value
    for (const url of urls) await expect.poll(() => counted(url)).toBeGreaterThanOrEqual(windows - 2)
    await expect.poll(() => counted(monitor.found)).toBe(windows - 1)
    for (const url of urls) judged(await scraped(url))
    expect((await fetch(urls[1]!)).status).toBe(401)

    const config = join(dir, 'prometheus.yml')
    const target = (name: string, url: string, more = ''): string =>
      `  - job_name: ${name}\n    scrape_interval: 200ms\n    scrape_timeout: 200ms\n${more}    static_configs: [{ targets: ["${new URL(url).host}"] }]\n`
    const credentials = `    authorization: { credentials_file: ${tokenFile} }\n`
    const jobs = target('monitor', urls[0]!) + target('collector', urls[1]!, credentials)
    writeFileSync(config, `scrape_configs:\n${jobs}`)
    expect(spawnSync('promtool', ['check', 'config', config]).status).toBe(0)
    const { found: address } = await started(
      'prometheus',
      [
        ...[`--config.file=${config}`, `--storage.tsdb.path=${join(dir, 'data')}`, '--web.listen-address=127.0.0.1:0'],
        '--log.level=info',
      ],
      /msg="Listening on" address=(\S+)/,
    )
    const ask = async (query: string): Promise<Answer> => {
      const answer = await fetch(`http://${address}/api/v1/query?query=${encodeURIComponent(query)}`)
      return (await answer.json()) as Answer
    }
    const values = async (query: string): Promise<Record<string, number>> => {
      const { data } = await ask(query)
      return Object.fromEntries(data.result.map(({ metric, value }) => [metric.job, Number(value[1])]))
    }
    // A rate needs two scrapes.
    const scrapes = 'min_over_time(up[10s]) * count_over_time(up[10s]) >= bool 4'
    await expect.poll(() => values(scrapes)).toEqual({ monitor: 1, collector: 1 })
    // 40 packets a window; the monitor has not ended its last one, the collector holds one for agents that are late.
    expect((await values('verbena_monitor_rdma_packets_total')).monitor).toBe(40 * (windows - 1))
    expect((await values('verbena_monitor_events_total{event="missing"}')).monitor).toBeGreaterThanOrEqual(windows - 1)
    expect(await values('verbena_monitor_agents{state="here"}')).toEqual({ collector: 1 })
    expect((await values('verbena_monitor_top{by="hosts",key="10.0.0.1 → 10.0.0.2"}')).monitor).toBeGreaterThan(0)
    for (const { title: panel, query } of panelQueries('qp', '10s')) {
      const { status, data } = await ask(query)
      expect([panel, query, status]).toEqual([panel, query, 'success'])
      expect(data.result.length, `${panel}: ${query}`).toBeGreaterThan(0)
    }
  })
})
