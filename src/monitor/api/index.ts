/** Server of the monitor's live page. Other folders import from here only. */
export { type PageOptions, PageServer } from './server.ts'
