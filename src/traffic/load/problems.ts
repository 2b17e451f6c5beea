/** Problems of settings, each with its key, and the nearest valid key. */
import type { z } from 'zod'
import { didYouMean, issueText, kindsOf, notOneOf } from '../../spelling/index.ts'
import { jsonSchema } from './json-schema.ts'
import { configurationSchema } from './schema.ts'
import type { Settings } from './settings.ts'

export type Path = readonly (string | number)[]

export interface Problem {
  path: Path
  /** Flag: the path is the key itself, not its value. */
  key?: boolean
  what: string
}

/** Returns the settings, or all problems of their shape. */
export function checkShape(raw: unknown): { settings: Settings } | { problems: Problem[] } {
  const checked = configurationSchema.safeParse(raw, { reportInput: true })
  if (checked.success) return { settings: checked.data }
  return { problems: onceForPoints(checked.error.issues.flatMap((issue) => problemsOf(issue as Issue, []))) }
}

/** Keeps only the first of equal problems of the points of a distribution. */
function onceForPoints(problems: readonly Problem[]): Problem[] {
  const seen = new Set<string>()
  return problems.filter(({ path, what }) => {
    const at = path.indexOf('points')
    const key = `${path.slice(0, at).join('\0')}\0${what}`
    if (at < 0) return true
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}

type Issue = z.core.$ZodIssue

function problemsOf(issue: Issue, above: Path): Problem[] {
  const path = [...above, ...(issue.path as (string | number)[])]
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({
        path: [...path, key],
        key: true,
        what: `there is no such key${hint(key, path)}`,
      }))
    case 'invalid_union': {
      const deepest = deepestBranch(issue.errors as Issue[][])
      if (deepest !== undefined) return deepest.flatMap((inner) => problemsOf(inner, path))
      return [{ path, what: notOneOf(issue.input, [...optionsOf(issue), ...kindsOf(issue.errors as Issue[][])]) }]
    }
    default:
      return [{ path, what: issueText(issue) }]
  }
}

/**
 * Returns the issues of the union's branch that is nearest to the value: one that accepts its type, and whose first mistake is deepest in
 * it.
 */
function deepestBranch(branches: readonly Issue[][]): Issue[] | undefined {
  let best: Issue[] | undefined
  for (const issues of branches) {
    const refused = issues.some(
      ({ code, path }) => path.length === 0 && (code === 'invalid_type' || code === 'invalid_value'),
    )
    if (refused) continue
    if (best === undefined || rank(issues) < rank(best)) best = issues
  }
  return best
}

/** Returns the distance of a branch: the fewer keys are unknown or missing, the nearer it is. */
function rank(issues: readonly Issue[]): number {
  return issues.reduce(
    (sum, issue) =>
      sum + (issue.code === 'unrecognized_keys' ? 2 * issue.keys.length : issue.code === 'invalid_type' ? 2 : 1),
    0,
  )
}

function optionsOf(issue: Extract<Issue, { code: 'invalid_union' }>): string[] {
  const branches = (issue.errors as Issue[][]).flat()
  const own = (issue as { options?: unknown[] }).options?.map(String) ?? []
  return [...own, ...branches.flatMap((inner) => (inner.code === 'invalid_value' ? inner.values.map(String) : []))]
}

function hint(key: string, path: Path): string {
  const known = keysAt(path)
  const meant = didYouMean(key, known)
  if (meant !== '') return `.${meant}`
  return known.length === 0 ? '' : `; there are ${known.join(', ')}`
}

/** Returns the keys that the schema has at a path. */
function keysAt(path: Path): string[] {
  let nodes: SchemaNode[] = [jsonSchema() as SchemaNode]
  const opened = (node: SchemaNode): SchemaNode[] => [
    node,
    ...[...(node.anyOf ?? []), ...(node.oneOf ?? [])].flatMap(opened),
  ]
  for (const step of path)
    nodes = nodes.flatMap(opened).flatMap((node) => {
      const next = typeof step === 'number' ? node.items : (node.properties?.[step] ?? node.additionalProperties)
      return typeof next === 'object' ? [next] : []
    })
  return [
    ...new Set(
      nodes
        .flatMap(opened)
        .flatMap((node) => [...Object.keys(node.properties ?? {}), ...(node.propertyNames?.enum ?? [])]),
    ),
  ].filter((key) => key !== '$schema')
}

interface SchemaNode {
  anyOf?: SchemaNode[]
  oneOf?: SchemaNode[]
  properties?: Record<string, SchemaNode>
  propertyNames?: { enum?: string[] }
  additionalProperties?: SchemaNode | boolean
  items?: SchemaNode
}
