/** The HTTP API, version 2, as VILLASnode has it, and more: nodes and paths are added, changed and removed while others run. */
import { metricsType } from '../../counters/index.ts'
import { type App, type Context, makeApp } from '../../web/serve/index.ts'
import { graphDot, graphOf, graphSvg, graphText } from '../graph/index.ts'
import { configurationLimits, formatNames, hookTypes } from '../index.ts'
import { nodeTypes } from '../nodes/index.ts'
import { ApiError, type GatewayControl } from './control.ts'
import { metricsOf } from './metrics.ts'

export interface AppOptions {
  readonly control: GatewayControl
  readonly version: string
  /** Live page, as HTML. */
  readonly page: string
  shutdown(): void
}

const prefix = '/api/v2'

export function addRoutes(app: App, { control, version, page, shutdown }: AppOptions): void {
  const started = Date.now()
  app.onError((error, c) => {
    if (error instanceof ApiError) return c.json({ error: error.message, errors: error.details }, error.status)
    return c.json({ error: error.message }, 500)
  })
  app.notFound((c) => c.json({ error: `there is no ${c.req.method} ${c.req.path}` }, 404))

  app.get('/', (c) => {
    c.header('Content-Security-Policy', "frame-ancestors 'none'")
    return c.html(page)
  })
  app.get(`${prefix}/status`, (c) => {
    const { config, gateway } = control
    const { name, uuid } = config
    const uptimeSeconds = Math.round((Date.now() - started) / 1000)
    return c.json({
      state: gateway.state,
      version,
      name,
      uuid,
      uptimeSeconds,
      pool: gateway.pool,
      failures: gateway.failures,
    })
  })
  app.get(`${prefix}/capabilities`, (c) => c.json(capabilitiesOf(app)))
  app.get(`${prefix}/config`, (c) => c.json(control.settings as object))
  app.get(`${prefix}/metrics`, (c) => c.body(metricsOf(control, version), 200, { 'Content-Type': metricsType }))
  app.get(`${prefix}/:graph{graph\\.(svg|dot|text|json)}`, (c) => {
    const model = graphOf(control.config, control.states())
    const format = c.req.param('graph').slice('graph.'.length)
    if (format === 'svg') return c.body(graphSvg(model), 200, { 'Content-Type': 'image/svg+xml' })
    if (format === 'json') return c.json(model as object)
    return c.text(format === 'dot' ? graphDot(model) : graphText(model))
  })
  app.post(`${prefix}/restart`, async (c) => {
    const body = await bodyOf(c)
    await control.restart((body as { config?: unknown } | undefined)?.config)
    return c.json({ restarted: true })
  })
  app.post(`${prefix}/shutdown`, (c) => {
    // Not before the answer is on its way.
    setImmediate(shutdown)
    return c.json({ stopping: true })
  })
  addNodes(app, control)
  addPaths(app, control)
}

function addNodes(app: App, control: GatewayControl): void {
  app.get(`${prefix}/nodes`, (c) => c.json(control.nodes() as object[]))
  const one = `${prefix}/node/:node`
  app.get(one, (c) => c.json(control.node(c.req.param('node')) as object))
  app.put(one, async (c) => {
    const { isNew, node } = await control.putNode(c.req.param('node'), await bodyOf(c))
    return c.json(node as object, isNew ? 201 : 200)
  })
  app.delete(one, async (c) => {
    await control.deleteNode(c.req.param('node'))
    return c.json({ deleted: true })
  })
  for (const action of ['start', 'stop', 'pause', 'resume', 'restart'] as const)
    app.post(`${one}/${action}`, async (c) => c.json((await control.actOnNode(c.req.param('node'), action)) as object))
  app.post(`${one}/file/rewind`, async (c) => c.json((await control.rewind(c.req.param('node'))) as object))
  app.get(`${one}/stats`, (c) => c.json(statsOf(control, c.req.param('node'))))
  app.post(`${one}/stats/reset`, (c) => {
    const { name } = control.findNode(c.req.param('node'))
    control.gateway.watch(name)?.watch.resetDelays()
    return c.json(statsOf(control, name))
  })
}

function addPaths(app: App, control: GatewayControl): void {
  app.get(`${prefix}/paths`, (c) => c.json(control.paths() as object[]))
  app.post(`${prefix}/paths`, async (c) => c.json((await control.postPath(await bodyOf(c))) as object, 201))
  const one = `${prefix}/path/:path`
  app.get(one, (c) => c.json(control.path(c.req.param('path')) as object))
  app.put(one, async (c) => c.json((await control.putPath(c.req.param('path'), await bodyOf(c))) as object))
  app.delete(one, async (c) => {
    await control.deletePath(c.req.param('path'))
    return c.json({ deleted: true })
  })
  for (const action of ['start', 'stop'] as const)
    app.post(`${one}/${action}`, async (c) => c.json((await control.actOnPath(c.req.param('path'), action)) as object))
}

/** Counts of a node, and how long samples that passed it were on their way. */
function statsOf(control: GatewayControl, nameOrUuid: string): object {
  const { name } = control.findNode(nameOrUuid)
  const counts = control.gateway.nodes().find((node) => node.name === name)?.counts ?? {}
  const delays = control.gateway.watch(name)?.watch.delays()
  if (delays === undefined || delays.count === 0) return { counts, delay: null }
  const { count, sumSeconds, maxSeconds } = delays
  const [p10, p50, p90, p99, p999] = [0.1, 0.5, 0.9, 0.99, 0.999].map((share) => delays.quantileSeconds(share))
  return { counts, delay: { unit: 's', count, mean: sumSeconds / count, max: maxSeconds, p10, p50, p90, p99, p999 } }
}

/** Returns the capabilities of a gateway in VILLASnode's terms: the names of its requests, node-types, formats and hooks. */
export function capabilities(): object {
  const app = makeApp()
  // No request is made of this app, so that it needs no options.
  addRoutes(app, {} as AppOptions)
  return capabilitiesOf(app)
}

function capabilitiesOf(app: App): object {
  return { apis: namesOf(app), nodes: Object.keys(nodeTypes), formats: formatNames, hooks: Object.keys(hookTypes) }
}

/** Returns the names of all requests, as VILLASnode names its own: "node/stats/reset" is that of `/node/:node/stats/reset`. */
function namesOf(app: App): string[] {
  const paths = app.routes.map(({ path }) => path).filter((path) => path.startsWith(`${prefix}/`))
  const names = paths.map((path) => path.slice(prefix.length + 1).replace(/\/:(node|path)/, ''))
  // What VILLASnode calls node/file is the same request.
  return [...new Set([...names.map((name) => name.replace(/^:graph.*/, 'graph')), 'node/file'])].sort()
}

/** Returns the JSON body of a request; undefined if the body is empty. */
async function bodyOf(c: Context): Promise<unknown> {
  const text = await c.req.text()
  if (text.trim() === '') return undefined
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (error) {
    throw new ApiError(400, `the body is no JSON: ${(error as Error).message}`)
  }
  // As in files: a deeper value would overflow the stack of recursive functions.
  const { depth } = configurationLimits
  if (isDeeper(body, depth)) throw new ApiError(400, `values are nested more than ${depth} deep`)
  return body
}

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((each) => isDeeper(each, depth - 1))
}
