/** What tests of sketches share. */
import type { SketchKind } from '../../src/sketch/index.ts'

export * from '../../bench/sketch-measures.ts'

/** Kinds that answer by key. */
export const amountKinds = [
  'count-min',
  'conservative',
  'count',
  'coco',
  'elastic',
  'heavykeeper',
  'space-saving',
  'misra-gries',
  'fast-path',
  'sketchvisor',
  'nitro',
  'univmon',
  'flowradar',
  'ld',
  'sketchlearn',
] as const satisfies SketchKind[]
export type AmountKind = (typeof amountKinds)[number]

/** Bytes as text: comparing that is fast. */
export const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')
