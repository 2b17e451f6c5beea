/** What a monitor needs of Node.js. Other folders import from here only. */
export { type LiveWatchOptions, type WatchOptions, watchCapture, watchLive } from './sources.ts'
