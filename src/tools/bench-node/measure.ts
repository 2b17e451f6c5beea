/**
 * One run of the benchmark of node-types, with the graph of seed 000 ("VILLASnode node-type benchmark"):
 *
 *     signal ──> node under test ──> file "output"
 *            └─> file "input"
 *
 * The paths have threads of their own. The generator does not stamp when its samples are received (`builtin = false`), so that the
 * latency is that of the node under test; that node is written before the file.
 */
import { mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Settings } from '../../gateway/index.ts'
import { checkSettings, SuperNode } from '../../gateway/runtime/index.ts'
import { type Evaluation, evaluate } from './evaluate.ts'
import { type NodeSettings, underTest } from './settings.ts'

export interface MeasureOptions {
  /** Number of the run, in the names of its files. */
  run: number
  /** Samples. */
  limit: number
  timer: string
  /** Of infiniband; undefined: that of its address. */
  device: string | undefined
  folder: string
  signal: AbortSignal
  log(line: string): void
}

/** `timer` is there if runs differ in it. */
export type NodeRun = { settings: NodeSettings & { timer?: string } } & Evaluation

/** Bytes that the files gather before they write: as much as a run has, so that none is written meanwhile. */
const bufferBytes = 1 << 26
/** Nothing arrived for so long: what is not there yet will not come. */
const quietMs = 300

/** Throws a `GatewayError` if a node cannot start. */
export async function measureNode(
  settings: NodeSettings,
  options: MeasureOptions,
): Promise<NodeRun & { latencies: Float64Array }> {
  const { run, limit, folder, signal } = options
  mkdirSync(folder, { recursive: true })
  const { mode, values, rate } = settings
  const name = `${String(run).padStart(3, '0')}_${mode}-${values}-${rate}-${limit}`
  const [input, output] = ['input', 'output'].map((each) => join(folder, `${name}_${each}.csv`)) as [string, string]
  for (const file of [input, output]) rmSync(file, { force: true })
  const config = await configuration(settings, options, { input, output })
  const { config: checked, errors } = checkSettings(config)
  if (errors.length > 0) throw errors[0]
  const gateway = await SuperNode.parse(checked, {
    log: (level, owner, line) => {
      if (level === 'warn' || level === 'error') options.log(`${owner}: ${line}`)
    },
  })
  await gateway.start()
  const stop = (): void => void gateway.stop()
  signal.addEventListener('abort', stop, { once: true })
  try {
    await untilOver(gateway, signal)
    await gateway.stop()
  } finally {
    signal.removeEventListener('abort', stop)
  }
  for (const { node, message } of gateway.failures) throw new Error(`${node}: ${message}`)
  for (const file of [input, output]) statSync(file)
  return { settings, ...evaluate(input, output, limit) }
}

async function configuration(
  settings: NodeSettings,
  { limit, timer, device }: MeasureOptions,
  files: { input: string; output: string },
): Promise<Settings> {
  const { values, rate } = settings
  const { sender, receiver } = await underTest(settings, device)
  const source = { type: 'signal', signal: 'mixed', values, rate, limit, timer, monitor_missed: false }
  const file = (uri: string): Settings => ({ type: 'file', uri, format: 'csv', out: { buffer_size: bufferBytes } })
  return {
    nodes: {
      source: { ...source, in: { builtin: false } },
      sender,
      ...(receiver !== null && { receiver }),
      input: file(files.input.replaceAll('%', '%%')),
      output: file(files.output.replaceAll('%', '%%')),
    },
    paths: [
      { in: 'source', out: ['sender', 'input'] },
      { in: receiver === null ? 'sender' : 'receiver', out: 'output', original_sequence_no: true },
    ],
    stats: 20,
  }
}

/** Until the generator has come to its end, and what it sent has arrived, or does not any more. */
async function untilOver(gateway: SuperNode, signal: AbortSignal): Promise<void> {
  let done = false
  void gateway.done.then(() => {
    done = true
  })
  let before = -1
  let quietSince = Number.POSITIVE_INFINITY
  while (!done && !signal.aborted) {
    await sleep(20)
    const [generated, arrived] = gateway.paths()
    const count = arrived!.counts.received!
    if (generated!.state !== 'stopped' || count !== before) quietSince = performance.now()
    before = count
    if (performance.now() - quietSince > quietMs) return
  }
}
