/** YAML, with the line of every setting. */
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml'
import { configurationLimits, type Places, refuseText, type Settings, type SourceText } from '../index.ts'

/** Parses YAML. Throws a `GatewayError` with file and line. */
export function parseYaml(source: SourceText, places: Places): unknown {
  const lines = new LineCounter()
  const document = parsed(source, lines)
  const lineOf = (node: Node | null | undefined) => lines.linePos(node?.range?.[0] ?? 0).line
  const [error] = document.errors
  if (error !== undefined) refuseText(`${source.name}:${lines.linePos(error.pos[0]).line}`, error.message)
  const refuse = (node: Node | null, what: string): never => refuseText(`${source.name}:${lineOf(node)}`, what)
  const contentOf = (node: Node | null, depth: number): unknown => {
    if (depth > configurationLimits.depth) refuse(node, `values are nested more than ${configurationLimits.depth} deep`)
    if (isAlias(node)) return refuse(node, 'aliases (*) are not read; write the value once more')
    if (isScalar(node)) return typeof node.value === 'bigint' ? Number(node.value) : node.value
    if (isSeq(node)) {
      const list: unknown[] = []
      places.set(list, undefined, source.name, lineOf(node))
      for (const item of node.items as Node[]) {
        places.set(list, String(list.length), source.name, lineOf(item))
        list.push(contentOf(item, depth + 1))
      }
      return list
    }
    if (!isMap(node)) return null
    const group: Settings = {}
    places.set(group, undefined, source.name, lineOf(node))
    for (const { key, value } of node.items as { key: Node; value: Node | null }[]) {
      if (!isScalar(key)) return refuse(key, 'the name of a setting is a word')
      const name = String(key.value)
      if (name === '__proto__') refuse(key, `'${name}' is no name of a setting`)
      group[name] = contentOf(value, depth + 1)
      places.set(group, name, source.name, lineOf(key))
    }
    return group
  }
  return contentOf(document.contents, 0)
}

function parsed(source: SourceText, lines: LineCounter): Document.Parsed {
  try {
    return parseDocument(source.text, { lineCounter: lines, prettyErrors: false, logLevel: 'silent' })
  } catch (error) {
    // The parser recurses into nested values until the stack overflows.
    return refuseText(source.name, `this is no YAML: ${(error as Error).message}`)
  }
}
