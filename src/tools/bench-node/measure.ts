/**
 * One run: the gateways start, the nodes under test connect, a warm-up passes, and then the samples that are measured. The warm-up passes
 * through the same threads, so that their code is compiled when the run begins.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayError } from '../../gateway/index.ts'
import { type NodeFiles, nodeFiles } from '../../report/index.ts'
import { configurations, heldNode } from './configuration.ts'
import { dropWarmUp, type Evaluation, evaluate, lastSequence } from './evaluate.ts'
import { LocalPart, type Log, type Part } from './part.ts'
import { RemotePart } from './remote-part.ts'
import { type NodeSettings, type UnderTest, underTest } from './settings.ts'

export interface MeasureOptions {
  /** Identifier of the run, in the names of its files. */
  id: string
  /** Number of samples. */
  limit: number
  /** Number of samples before those that are measured. */
  warmUp: number
  /** Value of `--pin`: `auto`, `none`, or cores of the generator and the receiver. */
  pin: string
  folder: string
  signal: AbortSignal
  log: Log
}

export interface Measured extends Evaluation {
  limit: number
  /** Number of steps that were due until the run ended: fewer if it was interrupted. */
  steps: number
  interrupted: boolean
  /** Processor time of other processes, microseconds. */
  elsewhereUs: number
  /** Counters of the nodes under test. */
  counts: { sender: Readonly<Record<string, number>>; receiver: Readonly<Record<string, number>> }
}

/** Time within which nodes must connect. */
const connectMs = 15_000
const lookMs = 50
/** Time without an arrival after which the missing samples are lost. */
const quietMs = 400

/** Measures one run. Throws a `GatewayError` if a node cannot start, connect or continue. */
export async function measureNode(settings: NodeSettings, options: MeasureOptions): Promise<Measured> {
  const { id, limit, warmUp, folder, signal } = options
  mkdirSync(folder, { recursive: true })
  const files = nodeFiles(folder, { id, settings: { ...settings }, limit })
  for (const file of Object.values(files)) rmSync(file, { force: true })
  const nodes = await underTest(settings)
  const configs = configurations(settings, nodes, { limit, warmUp, pin: options.pin, files })
  const parts: Part[] = []
  let interrupted: boolean
  try {
    for (const config of configs) {
      const kind = configs.length === 1 ? LocalPart : RemotePart
      parts.push(await kind.start({ config, held: [heldNode] }, options.log))
    }
    await connected(parts, nodes, signal)
    for (const part of parts) part.release()
    interrupted = !(await isOver(parts, signal))
  } finally {
    // The sending part stops first, so that everything can be read.
    for (const part of parts.toReversed()) await part.stop()
  }
  const [failure] = parts.flatMap(({ status }) => status.failures)
  if (failure !== undefined) throw new GatewayError('ERR_GATEWAY_NODE', failure)
  const elsewhereUs = parts.reduce((sum, { status }) => sum + status.cpuUs, 0)
  const found = evaluated(files, { limit, warmUp, interrupted })
  return { ...found, interrupted, elsewhereUs, counts: countsOf(parts, nodes) }
}

function evaluated(
  files: NodeFiles,
  { limit, warmUp, interrupted }: { limit: number; warmUp: number; interrupted: boolean },
): Evaluation & { limit: number; steps: number } {
  for (const file of Object.values(files)) dropWarmUp(file, warmUp)
  const steps = interrupted ? Math.max(0, lastSequence(files.input) + 1 - warmUp) : limit
  return { ...evaluate(files.input, files.output, steps), limit, steps }
}

function countsOf(parts: readonly Part[], { receiver }: UnderTest): Measured['counts'] {
  const nodes = parts.flatMap(({ status }) => status.nodes)
  const of = (name: string): Readonly<Record<string, number>> => nodes.find((node) => node.name === name)?.counts ?? {}
  return { sender: of('sender'), receiver: of(receiver === null ? 'sender' : 'receiver') }
}

/** Waits until the nodes under test are connected. */
async function connected(parts: readonly Part[], { connects }: UnderTest, signal: AbortSignal): Promise<void> {
  if (!connects) return
  const end = performance.now() + connectMs
  for (;;) {
    const nodes = parts.flatMap(({ status }) => status.nodes).filter(({ name }) => /^(sender|receiver)$/.test(name))
    if (signal.aborted || nodes.every(({ state }) => state === 'connected')) return
    const [failure] = parts.flatMap(({ status }) => status.failures)
    if (failure !== undefined) throw new GatewayError('ERR_GATEWAY_NODE', failure)
    if (performance.now() > end) {
      const states = nodes.map(({ name, state }) => `${name}: ${state}`).join(', ')
      throw new GatewayError('ERR_GATEWAY_NODE', `not connected within ${connectMs / 1000} s (${states})`)
    }
    for (const part of parts) part.ask()
    await sleep(lookMs)
  }
}

/** Waits until the generator has finished and no more samples arrive; returns false if the run was interrupted. */
async function isOver(parts: readonly Part[], signal: AbortSignal): Promise<boolean> {
  let before = -1
  let quietSince = Number.POSITIVE_INFINITY
  while (!signal.aborted) {
    await sleep(lookMs)
    const paths = parts.flatMap(({ status }) => status.paths)
    const generated = paths.find((path) => path.in.includes('source'))!
    const arrived = paths.find((path) => path.out.includes('output'))!.counts.received!
    if (parts.some(({ status }) => status.failures.length > 0)) return true
    if (generated.state !== 'stopped' || arrived !== before) quietSince = performance.now()
    before = arrived
    if (performance.now() - quietSince > quietMs) return true
  }
  return false
}
