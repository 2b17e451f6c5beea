/**
 * What an entry point exports, read from the declarations that the build wrote (`dist/*.d.ts`): each name with the text of
 * its declarations and their comments. Imports and re-exports are followed within the package.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync } from 'rolldown/utils'

export interface Export {
  name: string
  kind: 'class' | 'function' | 'constant' | 'type' | 'namespace'
  /** The file of its declaration, from the root of the declarations; of what another package declares, its name. */
  from: string
  external: boolean
  /** One for each overload, and for each of several things with this name. */
  declarations: Declaration[]
}

export interface Declaration {
  /** The comment before it, without its stars. */
  comment: string
  code: string
}

/** As much of the parser's tree as is looked at here. */
interface Node {
  type: string
  start: number
  end: number
  declaration?: Node | null
  declarations?: Node[]
  specifiers?: Node[]
  source?: { value: string } | null
  id?: Node | null
  local?: Node
  exported?: Node | null
  imported?: Node
  name?: string
  value?: unknown
  body?: Node & { body?: Node[] }
  key?: Node
  accessibility?: string | null
}

interface Comment {
  type: string
  value: string
  start: number
  end: number
}

type Named = { file: string; name: string; external?: boolean; namespace?: boolean }

interface Module {
  text: string
  comments: Comment[]
  locals: Map<string, Node[]>
  imports: Map<string, Named>
  exports: Map<string, Named>
  stars: string[]
}

export class Declarations {
  readonly #root: string
  readonly #modules = new Map<string, Module>()

  /** `root` is the folder of the declarations. */
  constructor(root: string) {
    this.#root = root
  }

  /** In the order of their names. */
  exportsOf(file: string): Export[] {
    const exported = this.#exported(file)
    const known = new Set([...exported.values()].map(({ file: of, name }) => `${of} ${name}`))
    const names = [...exported].map(([name, where]) => this.#describe(name, where, known))
    return names.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** `known`: the classes that have an entry of their own. */
  #describe(name: string, where: Named, known: ReadonlySet<string>): Export {
    const found = where.external || where.namespace ? where : this.#declared(where)
    if (found.external) return { name, kind: 'constant', from: found.file, external: true, declarations: [] }
    if (found.namespace) return { name, kind: 'namespace', from: found.file, external: false, declarations: [] }
    const module = this.#module(found.file)
    const nodes = module.locals.get(found.name)
    if (!nodes) throw new Error(`${found.file} does not declare ${found.name}, which is exported as ${name}`)
    const shown = nodes.length > 1 ? nodes.filter((node) => !isTypeOfConstant(module.text, node)) : nodes
    return {
      name,
      kind: kindOf(nodes),
      from: found.file,
      external: false,
      declarations: shown.map((node) => ({
        comment: commentBefore(module, node.start),
        code: this.#withInherited(found.file, node, known, codeOf(module, node, new Set())),
      })),
    }
  }

  /** A class with the members of base classes that have no entry of their own, in front of its own members. */
  #withInherited(file: string, node: Node, known: ReadonlySet<string>, code: string): string {
    const own = new Set(membersOf(node).flatMap(({ key }) => key?.name ?? []))
    let [derived, all] = [{ file, node }, code]
    for (;;) {
      const [, before, name, given = '', after] =
        /^(class [^{]*?) extends (\w+)(?:<([^{]*?)>)?( implements [^{]*)? \{/.exec(all) ?? []
      const base = name === undefined ? undefined : this.#baseOf(derived.file, name)
      if (base === undefined || known.has(`${base.file} ${name}`)) return all
      const module = this.#module(base.file)
      if (own.has('constructor') || membersOf(derived.node).some(({ key }) => key?.name === 'constructor'))
        own.add('constructor')
      const text = codeOf(module, base.node, own)
      const [, parameters = '', further = ''] =
        /^(?:abstract )?class \w+(?:<([^{]*)>)?( extends [^{]*?)?(?: implements [^{]*)? \{/.exec(text) ?? []
      let members = text.slice(text.indexOf(' {\n') + 3, text.lastIndexOf('}'))
      for (const [i, parameter] of parameters.split(', ').entries())
        if (parameter !== '')
          members = members.replaceAll(
            new RegExp(`\\b${/\w+/.exec(parameter)![0]}\\b`, 'g'),
            given.split(', ')[i] ?? 'unknown',
          )
      for (const { key } of membersOf(base.node)) if (key?.name !== undefined) own.add(key.name)
      all = `${before}${further}${after ?? ''} {\n${members}${all.slice(all.indexOf(' {\n') + 3)}`
      derived = base
    }
  }

  #baseOf(file: string, name: string): { file: string; node: Node } | undefined {
    const found = this.#declared({ file, name })
    const node = found.external ? undefined : this.#module(found.file).locals.get(found.name)?.[0]
    return node && { file: found.file, node }
  }

  /** Follows imports to the module that declares a name. */
  #declared(where: Named): Named {
    let at = where
    for (;;) {
      const imported = this.#module(at.file).imports.get(at.name)
      if (!imported) return at
      if (imported.external || imported.namespace) return imported
      const next = this.#exported(imported.file).get(imported.name)
      if (!next) throw new Error(`${imported.file} has no export ${imported.name}`)
      if (next.external || next.namespace) return next
      at = next
    }
  }

  /** Each exported name, and where it is declared or imported. */
  #exported(file: string): Map<string, Named> {
    const module = this.#module(file)
    const all = new Map<string, Named>()
    for (const star of module.stars)
      for (const [name, where] of this.#exported(star)) if (name !== 'default') all.set(name, where)
    for (const [name, where] of module.exports) {
      const inside = where.file !== file && !where.external && !where.namespace
      const found = inside ? this.#exported(where.file).get(where.name) : where
      if (!found) throw new Error(`${where.file} has no export ${where.name}`)
      all.set(name, found)
    }
    return all
  }

  #module(file: string): Module {
    const known = this.#modules.get(file)
    if (known) return known
    const text = readFileSync(join(this.#root, file), 'utf8')
    const { program, comments, errors } = parseSync(file, text)
    if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`)
    const module: Module = {
      text,
      comments: comments as Comment[],
      locals: new Map(),
      imports: new Map(),
      exports: new Map(),
      stars: [],
    }
    this.#modules.set(file, module)
    for (const node of program.body as unknown as Node[]) this.#read(module, file, node)
    return module
  }

  #read(module: Module, file: string, node: Node): void {
    const target = (source: string): { file: string; external?: boolean } =>
      source.startsWith('.')
        ? { file: join(dirname(file), source).replace(/\.[jt]s$/, '.d.ts') }
        : { file: source, external: true }
    if (node.type === 'ImportDeclaration') {
      for (const { type, local, imported } of node.specifiers ?? []) {
        const name = type === 'ImportDefaultSpecifier' ? 'default' : (imported?.name ?? '*')
        module.imports.set(local!.name!, {
          ...target(node.source!.value),
          name,
          ...(name === '*' ? { namespace: true } : {}),
        })
      }
    } else if (node.type === 'ExportAllDeclaration') {
      const { file: other, external } = target(node.source!.value)
      if (node.exported) module.exports.set(node.exported.name!, { file: other, name: '*', namespace: true })
      else if (!external) module.stars.push(other)
    } else if (node.type === 'ExportDefaultDeclaration') {
      const { declaration } = node
      if (declaration?.type !== 'Identifier') throw new Error(`${file}: a default export that has no name`)
      module.exports.set('default', { file, name: declaration.name! })
    } else if (node.type === 'ExportNamedDeclaration' && !node.declaration) {
      for (const { local, exported } of node.specifiers ?? []) {
        const where = node.source ? target(node.source.value) : { file }
        module.exports.set(exported!.name!, { ...where, name: local!.name! })
      }
    } else {
      const exported = node.type === 'ExportNamedDeclaration'
      const declaration = exported ? node.declaration! : node
      const ids = declaration.declarations?.map(({ id }) => id) ?? [declaration.id]
      for (const id of ids) {
        if (!id?.name) continue
        module.locals.set(id.name, [...(module.locals.get(id.name) ?? []), node])
        if (exported) module.exports.set(id.name, { file, name: id.name })
      }
    }
  }
}

const declarationOf = (node: Node): Node => node.declaration ?? node

function membersOf(node: Node): Node[] {
  const declaration = declarationOf(node)
  return declaration.type === 'ClassDeclaration' ? (declaration.body?.body ?? []) : []
}

function kindOf(nodes: Node[]): Export['kind'] {
  const types = nodes.map((node) => declarationOf(node).type)
  if (types.includes('ClassDeclaration')) return 'class'
  if (types.some((type) => type.endsWith('FunctionDeclaration') || type === 'TSDeclareFunction')) return 'function'
  return types.includes('VariableDeclaration') ? 'constant' : 'type'
}

/** `type QpType = (typeof QpType)[keyof typeof QpType]`, which says nothing that the constant does not. */
function isTypeOfConstant(text: string, node: Node): boolean {
  const { start, end } = declarationOf(node)
  return /^type (\w+) = \(typeof \1\)\[keyof typeof \1\];?$/.test(text.slice(start, end))
}

function commentBefore({ text, comments }: Module, start: number): string {
  const before = comments.findLast(({ end }) => end <= start)
  if (!before?.value.startsWith('*') || text.slice(before.end, start).trim() !== '') return ''
  return proseOf(before.value)
}

function proseOf(comment: string): string {
  return comment
    .split('\n')
    .map((line) => line.replace(/^\s*\*? ?/, '').trimEnd())
    .join('\n')
    .trim()
}

/**
 * The text of a declaration, without members that are not public, or have one of the names in `without`, with two spaces for
 * each level.
 */
function codeOf(module: Module, node: Node, without: ReadonlySet<string>): string {
  const declaration = declarationOf(node)
  const hidden = membersOf(node).filter(
    ({ key, accessibility }) =>
      key?.type === 'PrivateIdentifier' || (accessibility ?? 'public') !== 'public' || without.has(key?.name ?? ''),
  )
  let text = ''
  let from = declaration.start
  for (const { start, end } of hidden) {
    const comment = module.comments.findLast((before) => before.end <= start)
    const own = comment && comment.start > from && module.text.slice(comment.end, start).trim() === ''
    text += module.text.slice(from, own ? comment.start : start).trimEnd()
    from = end
  }
  text += module.text.slice(from, declaration.end)
  return text.replace(/^declare (abstract )?/, '$1').replace(/^( {4})+/gm, (spaces) => ' '.repeat(spaces.length / 2))
}
