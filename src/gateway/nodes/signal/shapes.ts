/** The shapes of generated signals, with VILLASnode's formulas: `t` is in seconds since the start, `phase` in radians. */

/** Names in VILLASnode's order, which `mixed` goes through. */
export const shapeNames = ['random', 'sine', 'square', 'triangle', 'ramp', 'counter', 'constant', 'pulse'] as const
export type ShapeName = (typeof shapeNames)[number]

export interface ShapeSettings {
  readonly shape: ShapeName
  readonly frequency: number
  readonly amplitude: number
  /** Standard deviation of the steps of `random`, which is a random walk. */
  readonly stddev: number
  readonly offset: number
  readonly phase: number
  /** Width of the pulse, in samples. */
  readonly pulseWidth: number
  readonly pulseLow: number
  readonly pulseHigh: number
}

export class Shape {
  readonly #settings: ShapeSettings
  readonly #kind: number
  readonly #cycles: number
  readonly #pulse: number
  /** Present value of the random walk. */
  #walk: number

  constructor(settings: ShapeSettings, rateHz: number) {
    this.#settings = settings
    this.#kind = shapeNames.indexOf(settings.shape)
    this.#cycles = settings.phase / (2 * Math.PI)
    this.#pulse = settings.pulseWidth / rateHz
    this.#walk = settings.offset
  }

  /**
   * Writes the value at `into[at]`. `time` has seconds since the start, and samples before this one: as arguments such numbers would be
   * allocated where the call is not compiled into its caller.
   */
  write(time: Float64Array, into: Float64Array, at: number): void {
    into[at] = this.#value(time[0]!, time[1]!)
  }

  #value(t: number, counter: number): number {
    const { frequency, amplitude, offset, phase, stddev, pulseHigh, pulseLow } = this.#settings
    switch (this.#kind) {
      case 0:
        this.#walk += stddev * normal()
        return this.#walk
      case 1:
        return offset + amplitude * Math.sin(2 * Math.PI * frequency * t + phase)
      case 2:
        return offset + ((t * frequency + this.#cycles) % 1 < 0.5 ? -amplitude : amplitude)
      case 3:
        return offset + 4 * amplitude * (Math.abs(((t * frequency + this.#cycles) % 1) - 0.5) - 0.25)
      case 4:
        return offset + amplitude * (t % frequency)
      case 5:
        return offset + amplitude * counter
      case 6:
        return offset + amplitude
      default:
        return offset + (Math.abs((t * frequency + this.#cycles) % 1) <= this.#pulse ? pulseHigh : pulseLow)
    }
  }
}

/** Returns a number of the standard normal distribution (Box and Muller). */
function normal(): number {
  return Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random())
}
