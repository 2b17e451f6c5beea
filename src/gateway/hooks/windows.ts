/** Parts common to hooks with a window: times of its samples, which of them an output has, and the unit of angles. */
import { SampleField, Samples } from '../samples.ts'
import type { SettingsReader } from '../settings.ts'
import { copyTime } from '../words.ts'

export type Align = 'left' | 'center' | 'right'

/** Reads the setting `timestamp_align`. */
export function alignOf(settings: SettingsReader): Align {
  return settings.choice<Align>('timestamp_align', 'center', ['left', 'center', 'right'])
}

/** Reads the setting `angle_unit`; returns the unit, and the factor from radians to it. */
export function angleOf(settings: SettingsReader): { factor: number; unit: 'rad' | 'deg' } {
  const unit = settings.choice('angle_unit', 'rad', ['rad', 'degree'])
  return unit === 'rad' ? { factor: 1, unit } : { factor: 180 / Math.PI, unit: 'deg' }
}

/** Origins of the last samples. */
export class OriginWindow {
  readonly #times: Samples
  readonly #size: number
  #at = 0

  constructor(size: number) {
    this.#size = size
    this.#times = new Samples(size, 0)
  }

  add(samples: Samples, word: number): void {
    copyTime(samples, word + SampleField.origin, this.#times, this.#times.word(this.#at) + SampleField.origin)
    this.#at = this.#at + 1 === this.#size ? 0 : this.#at + 1
  }

  /** Gives a sample the origin of the oldest, the middle or the newest of the window. */
  align(samples: Samples, word: number, align: Align): void {
    const back = align === 'right' ? 1 : align === 'left' ? this.#size : Math.floor(this.#size / 2) + 1
    const index = (this.#at - Math.min(back, this.#size) + this.#size) % this.#size
    copyTime(this.#times, this.#times.word(index) + SampleField.origin, samples, word + SampleField.origin)
  }

  restart(): void {
    this.#at = 0
  }
}
