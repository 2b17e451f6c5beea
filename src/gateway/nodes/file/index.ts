/** file: samples from a file and to one, in any format. A file that is written grows; `-` is standard input, and standard output. */
import { existsSync } from 'node:fs'
import type { Format, NodeContext, NodeType, ParsedNode, RunningNode, SettingsReader } from '../../index.ts'
import { carries, formatSetting } from '../kit/settings.ts'
import { makeTimer, type Timer, type TimerName, timerNames } from '../timing/index.ts'
import { FileDestination, type FileOutSettings } from './destination.ts'
import { InputFile } from './input-file.ts'
import { OutputFile } from './output-file.ts'
import { epochModes, type FileInSettings, FileSource } from './source.ts'
import { conversionNames, fileName, unknownConversion } from './uri.ts'

const usualBufferBytes = 1 << 16
const mostBufferBytes = 2 ** 30

interface FileSettings {
  readonly uri: string
  readonly format: Format
  readonly timer: TimerName
  readonly in: FileInSettings
  readonly out: FileOutSettings & { readonly bufferBytes: number }
}

class FileNode implements RunningNode {
  readonly source: FileSource | null = null
  readonly destination: FileDestination | null = null
  readonly synchronous = true
  readonly #context: NodeContext
  readonly #input: InputFile | null = null
  readonly #timer: Timer | null = null
  #stopped = false

  /** Opens the files. Throws an error of the system with the path. */
  constructor(context: NodeContext, settings: FileSettings, directions: { in: boolean; out: boolean }) {
    this.#context = context
    const { uri, format } = settings
    const path = uri === '-' ? uri : fileName(uri, new Date())
    if (directions.in) {
      // Samples that are written to it will be there to read, which may be at once.
      if (context.isWritten && path !== '-' && !existsSync(path))
        OutputFile.open(path, { bufferBytes: 0, append: true }).close()
      this.#input = new InputFile(path)
      this.#timer = makeTimer(settings.timer)
      this.source = new FileSource(context, settings.in, this.#input, format, this.#timer)
    }
    if (!directions.out) return
    const encoder = format.encoder(context.signals.out)
    const bufferBytes = Math.max(settings.out.bufferBytes || usualBufferBytes, encoder.bound)
    const file =
      path === '-' ? OutputFile.standardOutput(bufferBytes) : OutputFile.open(path, { bufferBytes, append: true })
    this.destination = new FileDestination(context, file, encoder, settings.out)
  }

  get state(): string {
    return this.#stopped ? 'stopped' : this.source?.ended ? 'stopping' : 'started'
  }

  counters(): Record<string, number> {
    const { source, destination } = this
    return {
      ...(source && { missed_steps: source.missed, malformed: source.malformed, rewound: source.rewound }),
      ...(destination && { unwritable: destination.unwritable, undelivered: destination.undelivered }),
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    const { source } = this
    if (source && source.missed > 0) this.#context.log('warn', `missed steps: ${source.missed}`)
    this.#input?.close()
    this.#timer?.close()
    this.destination?.close()
  }
}

function parse(reader: SettingsReader): FileSettings {
  const uri = reader.string('uri', null, 'log_%F.dat')
  const unknown = unknownConversion(uri)
  if (unknown !== undefined)
    reader.refuse('uri', `a path, with ${conversionNames.join(' ')} for the time`, '"log_%F.dat"')
  if (/^[a-z]{2,}:\/\//i.test(uri))
    reader.fail(`uri: '${uri}' is on another machine; a file has to be on this one`, 'uri')
  const format = formatSetting(reader, 'villas.human')
  const input = reader.group('in')
  const eof = input.choice('eof', 'stop', ['stop', 'exit', 'rewind', 'wait'])
  const settings: FileSettings = {
    uri,
    format,
    timer: input.choice('timer', 'hybrid', timerNames),
    in: {
      eof: eof === 'exit' ? 'stop' : eof,
      epochMode: input.choice('epoch_mode', 'direct', epochModes),
      epochSeconds: input.number('epoch', 0, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY),
      rateHz: input.number('rate', 0, 0, 1e7),
      skip: input.integer('skip', 0, 0, Number.MAX_SAFE_INTEGER),
      limit: input.integer('limit', 0, 0, Number.MAX_SAFE_INTEGER),
      bufferBytes: input.integer('buffer_size', 0, 0, mostBufferBytes) || usualBufferBytes,
    },
    out: readOut(reader.group('out')),
  }
  input.done()
  return settings
}

function readOut(reader: SettingsReader): FileSettings['out'] {
  const out = {
    flush: reader.boolean('flush', false),
    limit: reader.integer('limit', 0, 0, Number.MAX_SAFE_INTEGER),
    bufferBytes: reader.integer('buffer_size', 0, 0, mostBufferBytes),
  }
  reader.done()
  return out
}

export const file: NodeType = {
  name: 'file',
  is: 'reads samples from a file, and writes them to one',
  parse(reader, { signals }): ParsedNode {
    const settings = parse(reader)
    return {
      signals,
      reads: true,
      writes: true,
      splits: true,
      check: carries(reader, settings.format),
      start: async (context, directions) => new FileNode(context, settings, directions),
    }
  },
}
