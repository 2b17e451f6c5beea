/**
 * Secrets of a configuration: settings that the types of nodes declare secret, the token of the API, and the text before the '@' of an
 * address. They are shown as stars; settings with stars that come back get the secret that stood there, and are an error where there was
 * none.
 */
import { GatewayError } from './errors.ts'
import { isGroup, type Settings } from './settings.ts'

/** Secret settings of each type of node: keys, or "group.key". In groups `in` and `out` they mean the same. */
export type SecretSettings = Readonly<Record<string, readonly string[]>>

const stars = '***'

/** Secret parts of a value: all of it, or those in some of its keys. Strings of other keys may be addresses. */
type Marks = true | { readonly [key: string]: Marks }

const nothing: Marks = {}
/** Minimum length of a secret: a shorter one would be found in other words, too. */
const leastLength = 3

export class Secrets {
  readonly #declared: SecretSettings

  constructor(declared: SecretSettings) {
    this.#declared = declared
  }

  /** Returns a copy of a whole configuration, with stars for secrets. */
  shown(settings: Settings): unknown {
    return shownOf(settings, this.#marksOf(settings))
  }

  /** Returns the same for the settings of a node, and for those of a path. */
  shownNode(settings: Settings): unknown {
    return shownOf(settings, this.#marksOfNode(settings))
  }

  shownPath(settings: Settings): unknown {
    return shownOf(settings, nothing)
  }

  /**
   * Returns settings of a whole configuration that are to take the place of `before`, with its secrets where there are stars. Throws a
   * `GatewayError` that names the key where there was none, or perhaps another one.
   */
  restored(settings: Settings, before: Settings): Settings {
    const marks = this.#marksOf(settings)
    const { nodes: old } = before
    const { nodes } = settings
    const rest = restoredOf(without(settings, 'nodes'), without(before, 'nodes'), marks, '') as Settings
    if (!Object.hasOwn(settings, 'nodes')) return rest
    if (!isGroup(nodes)) return { ...rest, nodes }
    const entries = Object.entries(nodes).map(([name, node]) => [
      name,
      isGroup(node) ? this.restoredNode(node, isGroup(old) ? ownOf(old, name) : undefined, `nodes.${name}`) : node,
    ])
    return { ...rest, nodes: Object.fromEntries(entries) }
  }

  /** Returns the same for a node; `before`: undefined if there was none of that name. One of another type has other secrets. */
  restoredNode(settings: Settings, before: unknown, place = 'the node'): Settings {
    const old = isGroup(before) && before.type === settings.type ? before : undefined
    return restoredOf(settings, old, this.#marksOfNode(settings), place) as Settings
  }

  restoredPath(settings: Settings, before?: Settings): Settings {
    return restoredOf(settings, before, nothing, 'the path') as Settings
  }

  /** Returns a function that removes the secrets of a configuration from texts, such as errors of nodes. */
  scrubber(settings: Settings): (text: string) => string {
    const found = new Set<string>()
    collect(settings, this.#marksOf(settings), found)
    const parts = [...found].filter(({ length }) => length >= leastLength).sort((a, b) => b.length - a.length)
    return (text) => shownText(parts.reduce((rest, part) => rest.replaceAll(part, stars), text))
  }

  #marksOf({ nodes }: Settings): Marks {
    const group = isGroup(nodes) ? nodes : {}
    const marks = Object.entries(group).map(([name, node]) => [name, isGroup(node) ? this.#marksOfNode(node) : nothing])
    return { http: { token: true }, nodes: Object.fromEntries(marks) as Marks }
  }

  #marksOfNode(settings: Settings): Marks {
    const { type } = settings
    // The secrets of an unknown type are unknown, so that all its settings are hidden; such a node never runs.
    if (typeof type !== 'string' || !Object.hasOwn(this.#declared, type)) {
      const unknown = Object.keys(settings).filter((key) => key !== 'type' && key !== 'enabled')
      return Object.fromEntries(unknown.map((key) => [key, true]))
    }
    const own = this.#declared[type]!.reduce<Marks>((marks, path) => marked(marks, path.split('.')), {})
    return own === true ? true : { ...own, in: own, out: own }
  }
}

function marked(marks: Marks, [key, ...rest]: readonly string[]): Marks {
  if (key === undefined || marks === true) return true
  return { ...marks, [key]: marked(ownOf(marks, key) ?? {}, rest) }
}

function ownOf<T>(group: { readonly [key: string]: T }, key: string): T | undefined {
  return Object.hasOwn(group, key) ? group[key] : undefined
}

function without(settings: Settings, key: string): Settings {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => name !== key))
}

const insideOf = (marks: Marks, key: string): Marks => (marks === true ? true : (ownOf(marks, key) ?? nothing))

/** Parts of a text that may be addresses: passwords in them may have any characters but these. */
const word = /[^\s"'<>]+/g
/** Secret that is passed as a parameter, as browsers have to. */
const parameter = /([?&](?:token|access_token|password|key|secret)=)([^\s&#"'<>]+)/gi

/** Returns the range of user and password in an address, up to the last '@': [from, to); undefined if it has none. */
function userInfoOf(address: string): [number, number] | undefined {
  const from = address.search(/[a-z0-9+.-]:\/\//i) + 4
  const to = address.lastIndexOf('@')
  return from > 3 && to >= from ? [from, to] : undefined
}

function shownText(text: string): string {
  const shown = text.replace(word, (address) => {
    const [from, to] = userInfoOf(address) ?? [0, 0]
    return to === 0 ? address : `${address.slice(0, from)}${stars}${address.slice(to)}`
  })
  return shown.replace(parameter, `$1${stars}`)
}

/** Returns the parts of a text that `shownText` does not show. */
function hiddenIn(text: string): string[] {
  const users = [...text.matchAll(word)].flatMap(([address]) => {
    const place = userInfoOf(address)
    return place === undefined ? [] : [address.slice(...place)]
  })
  return [...users, ...[...text.matchAll(parameter)].map(([, , secret]) => secret!)]
}

function shownOf(value: unknown, marks: Marks): unknown {
  if (Array.isArray(value)) return value.map((each) => shownOf(each, marks))
  if (isGroup(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, inside]) => [key, shownOf(inside, insideOf(marks, key))]),
    )
  if (marks === true && value !== null && value !== undefined) return stars
  return typeof value === 'string' ? shownText(value) : value
}

function restoredOf(value: unknown, before: unknown, marks: Marks, place: string): unknown {
  if (Array.isArray(value)) {
    const list = Array.isArray(before) ? before : []
    const isSame = list.length === value.length
    return value.map((each, i) => restoredItem(each, list, isSame ? i : -1, marks, `${place}[${i}]`))
  }
  if (isGroup(value)) {
    const old = isGroup(before) ? before : {}
    const entries = Object.entries(value).map(([key, inside]) => [
      key,
      restoredOf(inside, ownOf(old, key), insideOf(marks, key), place === '' ? key : `${place}.${key}`),
    ])
    return Object.fromEntries(entries)
  }
  if (!hasStars(value, marks)) return value
  const isScalar = before !== undefined && before !== null && !isGroup(before) && !Array.isArray(before)
  return isScalar && shownOf(before, marks) === value ? before : refuse(place)
}

/** Restores an item of a list, which may have moved: it is identified by what is shown of it, unless several items show the same. */
function restoredItem(value: unknown, before: readonly unknown[], at: number, marks: Marks, place: string): unknown {
  if (!containsStars(value, marks)) return value
  const text = JSON.stringify(value)
  const same = before.filter((each) => JSON.stringify(shownOf(each, marks)) === text)
  if (same.length > 0 && same.every((each) => JSON.stringify(each) === JSON.stringify(same[0]))) return same[0]
  return at >= 0 && same.includes(before[at]) ? before[at] : refuse(place)
}

/** True if a value is what is shown in place of a secret. */
function hasStars(value: unknown, marks: Marks): boolean {
  if (typeof value !== 'string') return false
  return marks === true ? value === stars : hiddenIn(value).includes(stars)
}

function containsStars(value: unknown, marks: Marks): boolean {
  if (Array.isArray(value)) return value.some((each) => containsStars(each, marks))
  if (isGroup(value)) return Object.entries(value).some(([key, inside]) => containsStars(inside, insideOf(marks, key)))
  return hasStars(value, marks)
}

function refuse(place: string): never {
  const why = `there is no secret that ${stars} could stand for, or more than one`
  throw new GatewayError('ERR_GATEWAY_SETTING', `${place}: ${why}; give the value itself`)
}

function collect(value: unknown, marks: Marks, into: Set<string>): void {
  if (Array.isArray(value)) for (const each of value) collect(each, marks, into)
  else if (isGroup(value))
    for (const [key, inside] of Object.entries(value)) collect(inside, insideOf(marks, key), into)
  else if (marks === true) {
    if (typeof value === 'string' || typeof value === 'number') into.add(`${value}`).add(encodeURIComponent(value))
  } else if (typeof value === 'string')
    for (const secret of hiddenIn(value)) {
      // A password may be reported without its user.
      const password = secret.slice(secret.indexOf(':') + 1)
      for (const part of [secret, password]) into.add(part).add(decoded(part))
    }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
