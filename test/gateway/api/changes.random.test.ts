/**
 * Changes through the API that come at the same time: all responses, and what is configured afterwards, are as if the requests had come
 * one after the other, in some order.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addRoutes } from '../../../src/gateway/api/app.ts'
import { GatewayControl } from '../../../src/gateway/api/control.ts'
import type { Settings } from '../../../src/gateway/index.ts'
import { checkSettings } from '../../../src/gateway/load/index.ts'
import { SuperNode } from '../../../src/gateway/runtime/index.ts'
import { type App, makeApp } from '../../../src/web/serve/index.ts'
import { holds } from '../../property.ts'

/** Nothing runs, so that a change costs no thread. */
const initial: Settings = {
  nodes: {
    first: { type: 'signal', rate: 1 },
    second: { type: 'mqtt', host: 'h', username: 'u', password: 'hush', in: { subscribe: 'x' } },
  },
  paths: [
    { in: 'first', enabled: false },
    { in: 'first', enabled: false },
  ],
}
const names = ['first', 'second', 'third'] as const

type Operation =
  | { do: 'put node'; name: string; rate: number }
  | { do: 'change node'; name: string; keepalive: number }
  | { do: 'delete node'; name: string }
  | { do: 'post path'; name: string; rate: number }
  | { do: 'put path'; at: number; name: string; rate: number }
  | { do: 'delete path'; at: number }
  | { do: 'look' }

interface Model {
  nodes: Record<string, Settings>
  paths: { uuid: string; settings: Settings }[]
}

interface Response {
  status: number
  /** Of what was made, changed or seen; undefined: an error. */
  shown?: unknown
  uuid?: string
}

const name = fc.constantFrom(...names)
const rate = fc.integer({ min: 1, max: 3 })
const at = fc.integer({ min: 0, max: 1 })
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ do: fc.constant('put node' as const), name, rate }),
  fc.record({ do: fc.constant('change node' as const), name, keepalive: rate }),
  fc.record({ do: fc.constant('delete node' as const), name }),
  fc.record({ do: fc.constant('post path' as const), name, rate }),
  fc.record({ do: fc.constant('put path' as const), at, name, rate }),
  fc.record({ do: fc.constant('delete path' as const), at }),
  fc.record({ do: fc.constant('look' as const) }),
)

const pathOf = (name: string, rate: number): Settings => ({ in: name, rate, enabled: false })
const shown = (settings: Settings): Settings =>
  Object.hasOwn(settings, 'password') ? { ...settings, password: '***' } : settings
/** With a secret that is not sent: the one of before. */
const changed = (keepalive: number): Settings => ({
  ...shown((initial.nodes as Record<string, Settings>).second!),
  keepalive,
})

/** What a gateway does that has one request at a time; `uuids` of the paths that were there at the begin. */
function apply(model: Model, operation: Operation, uuids: readonly string[], given: Response): [Model, Response] {
  const { nodes, paths } = model
  switch (operation.do) {
    case 'put node': {
      const settings = { type: 'signal', rate: operation.rate }
      const status = Object.hasOwn(nodes, operation.name) ? 200 : 201
      return [
        { nodes: { ...nodes, [operation.name]: settings }, paths },
        { status, shown: settings },
      ]
    }
    case 'change node': {
      const before = nodes[operation.name]
      if (before?.type !== 'mqtt') return [model, { status: 400 }]
      const settings = { ...changed(operation.keepalive), password: before.password }
      return [
        { nodes: { ...nodes, [operation.name]: settings }, paths },
        { status: 200, shown: shown(settings) },
      ]
    }
    case 'delete node': {
      if (!Object.hasOwn(nodes, operation.name)) return [model, { status: 404 }]
      if (paths.some(({ settings }) => settings.in === operation.name)) return [model, { status: 409 }]
      const { [operation.name]: _, ...rest } = nodes
      return [{ nodes: rest, paths }, { status: 200 }]
    }
    case 'post path': {
      if (!Object.hasOwn(nodes, operation.name)) return [model, { status: 400 }]
      const settings = pathOf(operation.name, operation.rate)
      const uuid = given.uuid ?? 'none'
      if (paths.some((path) => path.uuid === uuid)) return [model, { status: -1 }]
      return [
        { nodes, paths: [...paths, { uuid, settings }] },
        { status: 201, shown: settings, uuid },
      ]
    }
    case 'put path':
    case 'delete path': {
      const uuid = uuids[operation.at]!
      const index = paths.findIndex((path) => path.uuid === uuid)
      if (index < 0) return [model, { status: 404 }]
      if (operation.do === 'delete path') return [{ nodes, paths: paths.toSpliced(index, 1) }, { status: 200 }]
      if (!Object.hasOwn(nodes, operation.name)) return [model, { status: 400 }]
      const settings = pathOf(operation.name, operation.rate)
      return [
        { nodes, paths: paths.with(index, { uuid, settings }) },
        { status: 200, shown: settings, uuid },
      ]
    }
    case 'look':
      return [model, { status: 200, shown: documentOf(model) }]
  }
}

function documentOf({ nodes, paths }: Model): unknown {
  const all = Object.entries(nodes).map(([name, settings]) => [name, shown(settings)])
  return { nodes: Object.fromEntries(all), paths: paths.map(({ settings }) => settings) }
}

/** Keys in one order, since nodes that are exchanged move to another place. */
const sorted = (value: unknown): string =>
  JSON.stringify(value, (_, each) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  )

let gateway: SuperNode
let control: GatewayControl
let app: App
beforeAll(async () => {
  const { config } = checkSettings(initial)
  gateway = await SuperNode.parse(config, { watched: true })
  await gateway.start()
  control = new GatewayControl(gateway)
  app = makeApp()
  addRoutes(app, { control, version: '', page: '', shutdown: () => {} })
})
afterAll(() => gateway.stop())

async function call(method: string, path: string, body?: unknown): Promise<Response> {
  const text = body === undefined ? {} : { body: JSON.stringify(body) }
  const response = await app.request(`http://localhost/api/v2${path}`, {
    method,
    headers: { host: 'localhost' },
    ...text,
  })
  // biome-ignore lint/suspicious/noExplicitAny: whatever comes
  const json = (await response.json()) as any
  const { status } = response
  if (path === '/config') return { status, shown: { nodes: json.nodes, paths: json.paths } }
  const uuid = path.startsWith('/path') && typeof json.uuid === 'string' ? { uuid: json.uuid as string } : {}
  return json.config === undefined ? { status } : { status, shown: json.config, ...uuid }
}

function send(operation: Operation, uuids: readonly string[]): Promise<Response> {
  switch (operation.do) {
    case 'put node':
      return call('PUT', `/node/${operation.name}`, { type: 'signal', rate: operation.rate })
    case 'change node':
      return call('PUT', `/node/${operation.name}`, changed(operation.keepalive))
    case 'delete node':
      return call('DELETE', `/node/${operation.name}`)
    case 'post path':
      return call('POST', '/paths', pathOf(operation.name, operation.rate))
    case 'put path':
      return call('PUT', `/path/${uuids[operation.at]}`, pathOf(operation.name, operation.rate))
    case 'delete path':
      return call('DELETE', `/path/${uuids[operation.at]}`)
    case 'look':
      return call('GET', '/config')
  }
}

/** Whether there is an order in which the operations have these responses, and the last of all sees this. */
function explains(
  model: Model,
  rest: readonly { operation: Operation; response: Response }[],
  uuids: readonly string[],
  last: string,
): boolean {
  if (rest.length === 0) return sorted(documentOf(model)) === last
  return rest.some(({ operation, response }, i) => {
    const [next, expected] = apply(model, operation, uuids, response)
    return sorted(expected) === sorted(response) && explains(next, rest.toSpliced(i, 1), uuids, last)
  })
}

it('are as if they had come one after the other', async () => {
  await holds(
    fc.asyncProperty(
      fc.array(fc.record({ operation, turns: fc.integer({ min: 0, max: 6 }) }), { minLength: 2, maxLength: 6 }),
      async (operations) => {
        expect(await call('POST', '/restart', { config: initial })).toMatchObject({ status: 200 })
        const uuids = control.config.paths.map(({ uuid }) => uuid)
        const responses = await Promise.all(
          operations.map(async ({ operation, turns }) => {
            for (let i = 0; i < turns; i++) await new Promise(setImmediate)
            return { operation, response: await send(operation, uuids) }
          }),
        )
        const model: Model = {
          nodes: initial.nodes as Model['nodes'],
          paths: (initial.paths as Settings[]).map((settings, i) => ({ uuid: uuids[i]!, settings })),
        }
        const { shown: last } = await call('GET', '/config')
        expect(explains(model, responses, uuids, sorted(last)), sorted({ responses, last })).toBe(true)
        // What is not shown is still there.
        for (const { settings } of control.config.nodes)
          expect(settings.type === 'mqtt' ? settings.password : 'hush').toBe('hush')
      },
    ),
    40,
    800,
  )
})
