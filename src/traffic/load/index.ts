/** Configurations of the traffic generator in files. Other folders import from here only. */
export { loadCdf, loadTraffic, type Overrides, readTraffic } from './load.ts'
export { defaultPort } from './read.ts'
export { jsonSchema } from './schema.ts'
export { type FitTextOptions, fitText } from './write.ts'
