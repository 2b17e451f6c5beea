/** The HTTP API of a gateway. Other folders import from here only. */
export { capabilities } from './app.ts'
export { type Api, type ApiOptions, startApi } from './server.ts'
