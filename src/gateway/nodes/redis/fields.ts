/** Values of signals as the fields of a hash: numbers as JavaScript writes them, so that they are read back as they were. */
import { type Samples, SignalType } from '../../index.ts'

const unsigned = String.raw`(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?`
const number = `[-+]?${unsigned}`
const float = new RegExp(`^\\s*(?:${number}|[-+]?inf(?:inity)?|nan)\\s*$`, 'i')
/** Complex number. The imaginary part after a real one has a sign, so that 1.52i is all imaginary. */
const complex = new RegExp(`^\\s*(?:(${number})(?:([-+]${unsigned})[ij])?|(${number})[ij])\\s*$`)
/** Integer. More digits than any integer needs would take long. */
const integer = /^\s*[-+]?\d{1,64}\s*$/

function toNumber(text: string): number {
  return Number(
    text
      .trim()
      .replace(/^([-+]?)inf(inity)?$/i, '$1Infinity')
      .replace(/^nan$/i, 'NaN'),
  )
}

/** Reads a value; returns false if the text is not a value of the type. */
export function readField(samples: Samples, word: number, type: number, text: string): boolean {
  if (type === SignalType.float) {
    if (!float.test(text)) return false
    samples.f64[word >> 1] = toNumber(text)
  } else if (type === SignalType.integer) {
    if (!integer.test(text)) return false
    const value = BigInt.asUintN(64, BigInt(text.trim().replace(/^\+/, '')))
    samples.u32[word] = Number(value & 0xffffffffn)
    samples.u32[word + 1] = Number(value >> 32n)
  } else if (type === SignalType.boolean) {
    const value = /^\s*(?:(true|1)|(false|0))\s*$/i.exec(text)
    if (value === null) return false
    samples.u32[word] = value[1] === undefined ? 0 : 1
  } else {
    const parts = complex.exec(text)
    if (parts === null) return false
    samples.f32[word] = Number(parts[1] ?? 0)
    samples.f32[word + 1] = Number(parts[2] ?? parts[3] ?? 0)
  }
  return true
}

export function writeField({ u32, i32, f32, f64 }: Samples, word: number, type: number): string {
  if (type === SignalType.float) return String(f64[word >> 1]!)
  if (type === SignalType.integer) return String((BigInt(i32[word + 1]!) << 32n) | BigInt(u32[word]!))
  if (type === SignalType.boolean) return String(u32[word]! & 1)
  const [real, imaginary] = [f32[word]!, f32[word + 1]!]
  // JavaScript writes -0 without a sign.
  const sign = imaginary < 0 ? '' : Object.is(imaginary, -0) ? '-' : '+'
  return `${real}${sign}${imaginary}i`
}
