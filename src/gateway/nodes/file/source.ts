/**
 * Samples from a file: as fast as they are taken (epoch_mode original), at a rate, or at the times in the file, moved by an offset. `epoch`
 * is in seconds; with it
 *
 *     direct     the first sample comes now + epoch
 *     wait       each comes now + its time + epoch, as of a file that begins at 0
 *     relative   each comes at its time + epoch
 *     absolute   the first comes at epoch
 */
import {
  addTime,
  copySample,
  type Decoder,
  describeProblem,
  type Format,
  longestRest,
  type NodeContext,
  SampleField,
  SampleFlag,
  Samples,
  type Source,
  timeOfDay,
} from '../../index.ts'
import { Pace, type Timer } from '../timing/index.ts'
import type { InputFile } from './input-file.ts'

export const epochModes = ['direct', 'wait', 'relative', 'absolute', 'original'] as const
export type EpochMode = (typeof epochModes)[number]

export interface FileInSettings {
  readonly eof: 'stop' | 'rewind' | 'wait'
  readonly epochMode: EpochMode
  readonly epochSeconds: number
  /** Samples per second; 0: at the times of the file. */
  readonly rateHz: number
  /** Number of samples at the beginning that are left out. */
  readonly skip: number
  /** Samples after which it ends; 0: none. */
  readonly limit: number
  readonly bufferBytes: number
}

const batch = 128
/** Time between two looks at a file whose end was reached. */
const growthMs = 100

export class FileSource implements Source {
  released = 0
  ended = false
  malformed = 0
  rewound = 0
  readonly #context: NodeContext
  readonly #settings: FileInSettings
  readonly #file: InputFile
  readonly #format: Format
  readonly #timer: Timer
  readonly #pace: Pace | null
  readonly #samples: Samples
  #decoder: Decoder
  #said = 0
  #next = 0
  #bytes: Uint8Array
  #filled = 0
  #atEnd = false
  #skip: number
  /** Samples of this pass through the file. */
  #passed = 0
  /** Samples of all passes. */
  #sent = 0
  /** Time of the first sample of a pass, the offset that is added to all of them, and its time on the monotonic clock. */
  readonly #first = { sec: 0, nsec: 0 }
  readonly #offset = { sec: 0, nsec: 0 }
  #firstNs = Number.NaN

  constructor(context: NodeContext, settings: FileInSettings, file: InputFile, format: Format, timer: Timer) {
    this.#context = context
    this.#settings = settings
    this.#file = file
    this.#format = format
    this.#timer = timer
    this.#pace = settings.rateHz > 0 ? new Pace(settings.rateHz, context.clock, timer) : null
    this.#samples = new Samples(batch, context.pool.samples.values)
    this.#decoder = format.decoder(context.signals.in)
    this.#bytes = new Uint8Array(settings.bufferBytes)
    this.#skip = settings.skip
  }

  get missed(): number {
    return this.#pace?.missed ?? 0
  }

  read(samples: Int32Array, count: number): number {
    this.released = count
    const { epochMode } = this.#settings
    let read = 0
    while (read < count && this.#available() && (epochMode === 'original' || this.#isDue())) {
      this.#take(samples[read]!)
      read++
      if (this.#pace !== null && epochMode !== 'original') break
    }
    return read
  }

  wait(ms: number): void {
    if (this.ended) return
    if (this.#next >= this.#samples.count) this.#file.wait(this.#atEnd ? Math.min(ms, growthMs) : ms)
    else if (this.#settings.epochMode === 'original') return
    else if (this.#pace !== null) this.#pace.wait(ms)
    else {
      const limit = this.#context.clock.nowNs() + ms * 1e6
      const due = this.#dueNs()
      if (due <= limit) this.#timer.until(due)
      else this.#timer.sleep(limit)
    }
  }

  /** True if there is a decoded sample; reads and decodes if there is none. */
  #available(): boolean {
    while (this.#next >= this.#samples.count) if (this.ended || !this.#decode()) return false
    return !this.ended
  }

  /** Decodes samples; returns false if there is nothing for now. */
  #decode(): boolean {
    const samples = this.#samples
    const last = this.#atEnd && this.#settings.eof !== 'wait'
    samples.count = 0
    this.#next = 0
    const at = this.#decoder.decode(this.#bytes.subarray(0, this.#filled), 0, samples, last)
    if (at > 0) this.#bytes.copyWithin(0, at, this.#filled)
    this.#filled -= at
    this.#sayProblems()
    if (this.#decoder.problems.fatal) {
      this.#end('nothing behind it can be read')
      return false
    }
    const skipped = Math.min(this.#skip, samples.count)
    this.#skip -= skipped
    this.#next = skipped
    if (samples.count > 0) return true
    if (this.#atEnd) return this.#beyondEnd()
    return this.#fill()
  }

  #fill(): boolean {
    if (this.#filled === this.#bytes.length) {
      const larger = new Uint8Array(Math.max(this.#bytes.length, Math.min(2 * this.#bytes.length, 2 * longestRest)))
      larger.set(this.#bytes)
      this.#bytes = larger
    }
    let count: number
    try {
      count = this.#file.read(this.#bytes, this.#filled)
    } catch (error) {
      this.ended = true
      this.#context.fail(error as Error)
      return false
    }
    if (count > 0) this.#filled += count
    this.#atEnd = count === 0
    return count >= 0
  }

  /** Handles the end of the file, when everything before it is decoded. Returns true if there is more now. */
  #beyondEnd(): boolean {
    const { eof } = this.#settings
    if (eof === 'wait') {
      this.#fill()
      return !this.#atEnd
    }
    if (eof === 'stop') this.#end('end of file')
    else if (!this.#file.rewinds) this.#end('end of the stream, which cannot be rewound')
    else if (this.#passed === 0) this.#end('the file has no samples')
    else this.#rewind()
    return !this.ended
  }

  #rewind(): void {
    this.rewound++
    this.#file.rewind()
    this.#decoder = this.#format.decoder(this.#context.signals.in)
    this.#said = 0
    this.#atEnd = false
    this.#passed = 0
    this.#firstNs = Number.NaN
  }

  #end(why: string): void {
    this.ended = true
    this.#context.log('info', why)
  }

  #sayProblems(): void {
    const { problems } = this.#decoder
    const { count } = problems
    if (count === this.#said) return
    if (this.malformed === 0) this.#context.log('warn', `malformed: ${describeProblem(problems.first[0]!)}`)
    this.malformed += count - this.#said
    this.#said = count
  }

  #isDue(): boolean {
    if (this.#pace !== null) return this.#pace.due() > 0
    return this.#context.clock.nowNs() >= this.#dueNs()
  }

  /** Returns the time at which the next sample is due, on the monotonic clock. The first one of a pass determines all others. */
  #dueNs(): number {
    const samples = this.#samples
    const origin = samples.word(this.#next) + SampleField.origin
    const sec = samples.int64(origin)
    const nsec = samples.int64(origin + 2)
    if (Number.isNaN(this.#firstNs)) this.#beginPass(sec, nsec)
    return this.#firstNs + (sec - this.#first.sec) * 1e9 + (nsec - this.#first.nsec)
  }

  #beginPass(sec: number, nsec: number): void {
    const { epochMode, epochSeconds } = this.#settings
    const epoch = { sec: Math.trunc(epochSeconds), nsec: Math.round((epochSeconds % 1) * 1e9) }
    const now = timeOfDay()
    Object.assign(this.#first, { sec, nsec })
    const offset = this.#offset
    Object.assign(offset, epoch)
    if (epochMode === 'direct' || epochMode === 'absolute') {
      offset.sec -= sec
      offset.nsec -= nsec
    }
    if (epochMode === 'direct' || epochMode === 'wait') {
      offset.sec += now.sec
      offset.nsec += now.nsec
    }
    offset.sec += Math.floor(offset.nsec / 1e9)
    offset.nsec -= Math.floor(offset.nsec / 1e9) * 1e9
    const fromNow = (sec + offset.sec - now.sec) * 1e9 + (nsec + offset.nsec - now.nsec)
    this.#firstNs = this.#context.clock.nowNs() + fromNow
  }

  #take(index: number): void {
    const { samples } = this.#context.pool
    const word = samples.word(index)
    copySample(this.#samples, this.#samples.word(this.#next++), samples, word)
    // Numbers and times start again: without the flag the hook drop would let no sample pass any more.
    if (this.#passed === 0 && this.rewound > 0)
      samples.u32[word + SampleField.flags] = samples.u32[word + SampleField.flags]! | SampleFlag.newSimulation
    this.#passed++
    this.#sent++
    if (this.#sent === this.#settings.limit) this.#end('the limit is reached')
    if (this.#settings.epochMode === 'original') return
    const origin = word + SampleField.origin
    if (this.#pace !== null) this.#context.clock.stamp(origin)
    else addTime(samples, origin, this.#offset.sec, this.#offset.nsec)
    // The time of receipt has no meaning for a sample that is sent anew.
    const flags = samples.u32[word + SampleField.flags]! | SampleFlag.tsOrigin
    samples.u32[word + SampleField.flags] = flags & ~(SampleFlag.tsReceived | SampleFlag.offset)
  }
}
