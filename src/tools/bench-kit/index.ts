/** Code that the benchmarks share in the main thread: settings that are lists, the plan of a run, progress, saved results. */
export {
  checkPlan,
  configureBench,
  type NumberOption,
  type NumbersOf,
  type OutputOptions,
  repeatOption,
  seedOption,
} from './command.ts'
export { describeMachine, versions } from './machine.ts'
export { measure, type RunHooks, settingText } from './measurement.ts'
export { coreList, devicePair, type GivenOptions, onOff, parseList, parseLists, type SettingOption } from './option.ts'
export { combinations, type Limits, makePlan, type Plan, type PlannedSet, varying } from './product.ts'
export { Random } from './random.ts'
export { clearTimestamps, datedDirectory } from './results-dir.ts'
export { type Keep, keepSets, plannedSets, type SavedRun } from './runner.ts'
export { beginResults, pacedSaver, saverOf } from './saving.ts'
export { limitsOf, tellLeftOut } from './setting-options.ts'
