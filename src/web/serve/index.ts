/** The one server over HTTP. It loads hono: code that may not serve at all imports it when it does. Other folders import from here only. */
export { type App, type Context, makeApp, type Refusal, type Served, type ServeOptions, serve } from './serve.ts'
