/** A progress bar on stderr: only where a person looks, and only for runs that last longer than a moment. */
import { Presets, SingleBar } from 'cli-progress'
import { currentRun, isTerminal, type OutputStream } from '../../cli/terminal/index.ts'

const patienceMs = 2000

export class Progress {
  readonly #total: number
  readonly #started = performance.now()
  #bar: SingleBar | null = null
  #done = 0
  readonly #timer: NodeJS.Timeout | null

  constructor(total: number, stream: OutputStream = currentRun().io.stderr) {
    this.#total = total
    this.#timer = isTerminal(stream) ? setTimeout(() => this.#show(stream), patienceMs) : null
    this.#timer?.unref()
  }

  update(done: number, text: string): void {
    this.#done = done
    this.#bar?.update(done, { text })
  }

  /** Takes the bar away and gives the terminal back. */
  stop(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#bar?.stop()
    this.#bar = null
  }

  #show(stream: OutputStream): void {
    this.#bar = new SingleBar(
      {
        stream,
        format: '{bar} {value}/{total}  {text}',
        barsize: 28,
        hideCursor: true,
        clearOnComplete: true,
        linewrap: false,
        gracefulExit: false,
        startTime: this.#started,
      } as ConstructorParameters<typeof SingleBar>[0],
      Presets.shades_classic,
    )
    this.#bar.start(this.#total, this.#done, { text: '' })
  }
}
