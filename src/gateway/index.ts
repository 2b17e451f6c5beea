/** The gateway of real-time samples, as far as it goes: samples, signals, formats, conversion. Other folders import from here only. */
export { Converter, type ConvertOptions } from './convert.ts'
export { GatewayError, type GatewayErrorCode } from './errors.ts'
export { type Decoder, type Encoder, longestRest } from './formats/codec.ts'
export { type Format, formatNames, formatOf } from './formats/registry.ts'
export { describeProblem, type Problem, type Problems } from './problems.ts'
export { SampleField, SampleFlag, Samples } from './samples.ts'
export { mostSignals, type Signal, SignalType, signalsOf, signalTypeNames } from './signals.ts'
