export { roceDriver } from './device.ts'
export { type PublishedCounters, type PublishedDevice, publishedCounters } from './published-counters.ts'
