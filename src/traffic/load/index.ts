/** `verbena/traffic/load`: configurations of the traffic generator in files. Other folders import from here only. */

export { jsonSchema } from './json-schema.ts'
export { type CdfOptions, loadCdf, loadTraffic, type Overrides, readTraffic } from './load.ts'
export { defaultPort } from './read.ts'
export { type FitTextOptions, fitText } from './write.ts'
