/** Signals: names, types and units of the values of a sample. */
import { GatewayError } from './errors.ts'

/** Numbers of the types, as stored in `Samples`; the letters are those of VILLASnode's format strings ("8f2i"). */
export const SignalType = { float: 0, integer: 1, boolean: 2, complex: 3 } as const
export type SignalType = (typeof SignalType)[keyof typeof SignalType]

export const signalTypeNames: readonly string[] = ['float', 'integer', 'boolean', 'complex']

export interface Signal {
  readonly name: string
  /** Unit; empty if it has none. */
  readonly unit: string
  readonly type: SignalType
  /** True if the signal is not declared: it is one of as many as a sample may have. */
  readonly assumed?: boolean
  /** Initial value, until there is a sample; 0 if missing. */
  readonly init?: number | boolean | { readonly real: number; readonly imag: number }
}

/** Maximum number of values of a sample, as in VILLASnode. */
export const mostSignals = 512

const letters = 'fibc'

/** Returns the signals that a format string describes: "8f2i" is eight floats and two integers, called signal0 to signal9. */
export function signalsOf(format: string): Signal[] {
  const example = 'for example: 8f2i (eight floats, two integers); letters: f float, i integer, b boolean, c complex'
  const signals: Signal[] = []
  if (!/^(\d*[fibc])+$/.test(format))
    throw new GatewayError(
      'ERR_GATEWAY_SIGNALS',
      `'${format}' does not describe signals. Expected numbers and letters, ${example}`,
    )
  for (const [, count, letter] of format.matchAll(/(\d*)([fibc])/g)) {
    const number = count === '' ? 1 : Number(count)
    if (signals.length + number > mostSignals)
      throw new GatewayError(
        'ERR_GATEWAY_SIGNALS',
        `'${format}' has more than ${mostSignals} signals, the most that a sample can have`,
      )
    for (let i = 0; i < number; i++)
      signals.push({ name: `signal${signals.length}`, unit: '', type: letters.indexOf(letter!) as SignalType })
  }
  if (signals.length === 0)
    throw new GatewayError('ERR_GATEWAY_SIGNALS', `'${format}' describes no signal. Expected at least one, ${example}`)
  return signals
}
