export { roceDriver } from './driver.ts'
export { type PublishedCounters, type PublishedDevice, publishedCounters } from './published-counters.ts'
