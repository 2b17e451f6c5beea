/**
 * `verbena/sketch`: streams of keys and amounts in bounded memory, with bounds on every answer.
 * The module has no dependencies, and runs in browsers.
 */

export type { Estimate, KeyEstimate, SizeCount } from './answers.ts'
export {
  type CardinalitySketch,
  HyperLogLog,
  type HyperLogLogConfig,
  LinearCounting,
  type LinearCountingConfig,
} from './cardinality.ts'
export { heavyChanges } from './changes.ts'
export { type CocoConfig, type CocoOptions, CocoSketch, type CountBits, keyPart, type PartialKey } from './coco.ts'
export { CountMin, type CountMinConfig, type CountMinOptions } from './count-min.ts'
export { CountSketch, type CountSketchConfig, type CountSketchOptions } from './count-sketch.ts'
export {
  createSketch,
  type SketchKind,
  type SketchKinds,
  type SketchOf,
  sketchFromBytes,
  sketchKinds,
  sketchLike,
} from './create.ts'
export { DDSketch, type DDSketchConfig, type DDSketchOptions } from './ddsketch.ts'
export { type ElasticConfig, type ElasticOptions, ElasticSketch } from './elastic.ts'
export { SketchError, type SketchErrorCode } from './error.ts'
export { FastPath, type FastPathConfig } from './fast-path.ts'
export { type FlowLosses, FlowRadar, type FlowRadarConfig } from './flowradar.ts'
export { type FrequentConfig, MisraGries, SpaceSaving } from './frequent.ts'
export { HeavyKeeper, type HeavyKeeperConfig, type HeavyKeeperOptions } from './heavykeeper.ts'
export { Kll, type KllConfig, type KllOptions } from './kll.ts'
export { Workers, type WorkersOptions } from './ld-distributed.ts'
export { type LdConfig, type LdOptions, LdSketch } from './ld-sketch.ts'
export { Mrac, type MracConfig } from './mrac-sketch.ts'
export { type NitroConfig, type NitroOptions, NitroSketch } from './nitro.ts'
export { planSketch, type SketchPlan, type SketchTask } from './plan.ts'
export { randomSeed, type SeedLike } from './seed.ts'
export { AmountSketch, type KeyConfig, KeySketch, Sketch, type SketchOptions } from './sketch.ts'
export { SketchLearn, type SketchLearnConfig } from './sketchlearn.ts'
export { SketchVisor, type SketchVisorConfig, type SketchVisorOptions } from './sketchvisor.ts'
export { type SpreadConfig, type SpreadOptions, SpreadSketch } from './spread.ts'
export { UnivMon, type UnivMonConfig, type UnivMonOptions } from './univmon.ts'
export { type RateCurve, type WaveConfig, type WaveOptions, WaveSketch } from './wave.ts'
export { type ZipfOptions, type ZipfTrace, zipfTrace } from './zipf.ts'
