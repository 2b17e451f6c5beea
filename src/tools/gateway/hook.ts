/** `verbena gateway hook`: `villas hook`, samples from standard input to standard output through one hook. */
import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs'
import type { Command } from 'commander'
import { currentRun, endWith, exitCodes, interruptible, note } from '../../cli/terminal/index.ts'
import { hashOf, loadHookTypes } from '../../gateway/host/index.ts'
import {
  Converter,
  formatNames,
  type HookChain,
  type HookContext,
  type HookOutput,
  hooksOf,
  hookTypes,
  mostSignals,
  readHooks,
  SampleField,
  SampleFlag,
  type Samples,
  type Settings,
  type Signal,
  timeOfDay,
} from '../../gateway/index.ts'
import { parseInteger, UsageError, wrongValue } from '../kit/index.ts'
import { describeProblems, parseFormat, parseSignals, usable } from './formats.ts'
import { standardInput, standardOutput } from './standard-io.ts'
import { addVillasOptions, saidLevels } from './villas-options.ts'

const width = Math.max(...Object.keys(hookTypes).map((name) => name.length))
const list = Object.values(hookTypes)
  .map(({ name, is }) => `  ${name.padEnd(width)}  ${is}`)
  .join('\n')

const help = `
Hooks:
${list}

Their settings are those of VILLASnode, for example -o signal=voltage -o scale=1000. A value may be JSON; a,b,c is a list, and so is a key
that is given several times; a.b=1 is the setting b in the group a. Settings of -o go before those of the file of -c.

As for villas hook, a sample without a time of receipt was received when it was read. Input that cannot be read, and samples that the
hook cannot process, are left out, and their number is printed on standard error; the exit code is then 1.
Formats: ${formatNames.join(', ')}, or settings of one as JSON; see verbena gateway convert --help.

Examples:
  verbena gateway hook scale -t 2f -o signal=signal0 -o scale=1000 < log.dat
  verbena gateway hook decimate -t 8f -f csv -o ratio=10 < log.csv > less.csv
  verbena gateway hook pmu_dft -c pmu.json -t f -F json < grid.dat
  verbena gateway hook module -o path=./my-hook.mjs < log.dat`

interface Options {
  config?: string
  inputFormat: string
  outputFormat?: string
  types: string
  vectorize: string
  option: string[]
  log?: string
}

export function configure(command: Command): void {
  addVillasOptions(command)
    .description('Run samples from standard input to standard output through a hook.')
    .argument('<name>', 'of the hook')
    .option('-c, --config <file>', 'settings of the hook, as JSON (default: none)')
    .option('-f, --input-format <format>', 'of standard input', 'villas.human')
    .option('-F, --output-format <format>', 'of standard output (default: that of standard input)')
    .option('-t, --types <types>', 'number and types of the values', '64f')
    .option('-v, --vectorize <count>', 'samples that are read at once', '128')
    .option('-o, --option <key=value>', 'a setting of the hook', (each, all: string[]) => [...all, each], [])
    .addHelpText('after', help)
    .action(run)
}

async function run(name: string, options: Options): Promise<void> {
  const says = saidLevels(options.log)
  const signals = parseSignals('--types', options.types)
  const input = parseFormat('--input-format', options.inputFormat)
  const output = options.outputFormat === undefined ? input : parseFormat('--output-format', options.outputFormat)
  const batch = parseInteger('--vectorize', options.vectorize, 128, 1, 1 << 16)
  const settings = { ...settingsFile(options.config), ...settingsOf(options.option), type: name }
  const chain = await makeChain(settings, signals, (level, line) => {
    if (says(level)) note(line)
  })
  const decoder = usable('--input-format', () => input.decoder(signals))
  const encoder = usable('--output-format', () => output.encoder(chain.signals))
  const { problems } = decoder
  const between = {
    process(samples: Samples, word: number): number {
      receive(samples, word)
      return chain.process(samples, word)
    },
    drain: (samples: Samples, word: number): boolean => chain.drain(samples, word),
  }
  const converter = new Converter(decoder, encoder, { write: standardOutput, values: chain.values, between, batch })
  const interruption = interruptible('')
  const periodic = setInterval(() => chain.periodic(), 1000)
  try {
    chain.restart()
    for await (const chunk of standardInput(interruption.signal)) {
      await converter.push(chunk)
      if (problems.fatal) break
    }
    await (interruption.signal.aborted ? converter.drain() : converter.end())
    chain.stop()
  } finally {
    clearInterval(periodic)
    interruption.dispose()
  }
  if (says('warn')) describeProblems('The input', problems, signals)
  const { errors } = chain
  if (errors > 0 && says('warn'))
    note(`${errors === 1 ? 'One sample' : `${errors} samples`} could not be processed: values or fields are missing.`)
  endWith(interruption.exitCode() ?? (problems.count + errors > 0 ? exitCodes.failed : exitCodes.done))
}

async function makeChain(settings: Settings, signals: readonly Signal[], log: HookContext['log']): Promise<HookChain> {
  const of = 'verbena gateway hook'
  const configs = usable('name', () => readHooks(of, { hooks: [settings] }, () => undefined))
  const types = await loadHookTypes(configs).catch((error: unknown) => usable('name', () => rethrow(error)))
  const context: HookContext = {
    signals,
    values: mostSignals,
    owner: 'standard input',
    stamp,
    nowNs: () => performance.now() * 1e6,
    open,
    log,
    hash: hashOf,
  }
  return usable('name', () => hooksOf(configs, context, { types, of }))
}

function rethrow(error: unknown): never {
  throw error
}

function stamp(samples: Samples, word: number): void {
  const { sec, nsec } = timeOfDay()
  samples.setInt64(word, sec)
  samples.setInt64(word + 2, nsec)
}

function receive(samples: Samples, word: number): void {
  const flags = samples.u32[word + SampleField.flags]!
  if (flags & SampleFlag.tsReceived) return
  stamp(samples, word + SampleField.received)
  samples.u32[word + SampleField.flags] = flags | SampleFlag.tsReceived
}

function open(path: string): HookOutput {
  if (path === 'stdout') {
    const { stdout } = currentRun().io
    return { write: (bytes) => void stdout.write(bytes.slice()), close: () => {} }
  }
  // Opening a FIFO without a reader fails with ENXIO instead of blocking, in which Ctrl-C would not be handled.
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NONBLOCK } = constants
  let file: number
  try {
    file = openSync(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK, 0o666)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error
    throw new UsageError('--option', `${path} is a FIFO that nobody reads. Start its reader before`)
  }
  return {
    write(bytes): void {
      for (let at = 0; at < bytes.length; ) at += written(file, bytes, at)
    },
    close: () => closeSync(file),
  }
}

const waiter = new Int32Array(new SharedArrayBuffer(4))

function written(file: number, bytes: Uint8Array, at: number): number {
  try {
    return writeSync(file, bytes, at)
  } catch (error) {
    // The FIFO is full.
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    Atomics.wait(waiter, 0, 0, 1)
    return 0
  }
}

/** Returns the settings in a file. */
function settingsFile(path: string | undefined): Settings {
  if (path === undefined) return {}
  const example = 'for example: {"signal": "voltage", "scale": 1000}'
  let settings: unknown
  try {
    settings = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new UsageError('--config', `${path}: ${(error as Error).message}. Expected settings as JSON, ${example}`)
  }
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings))
    throw new UsageError('--config', `${path} is no object. Expected settings as JSON, ${example}`)
  return settings as Settings
}

/** Returns the settings that -o gives, one key and value at a time. */
export function settingsOf(options: readonly string[]): Settings {
  const settings: Settings = {}
  for (const option of options) {
    const [, key, text] = /^([^=]+)=(.*)$/s.exec(option) ?? []
    if (key === undefined) throw wrongValue('--option', option, 'key=value', 'scale=1000')
    add(settings, key.split('.'), parsed(text!))
  }
  return settings
}

function add(settings: Settings, [first, ...rest]: string[], value: unknown): void {
  const key = first!
  const before = Object.hasOwn(settings, key) ? settings[key] : undefined
  if (rest.length > 0) {
    const group = typeof before === 'object' && before !== null ? (before as Settings) : {}
    settings[key] = group
    add(group, rest, value)
  } else settings[key] = before === undefined ? value : [before, value].flat()
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text.includes(',') ? text.split(',').map(parsed) : text
  }
}
