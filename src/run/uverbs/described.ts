/** Arguments and results of commands by name, from the table of commands and their structures (schema.ts, structs.ts). */

import { decode, type Struct } from '../struct.ts'
import type { TraceValue } from '../watch/index.ts'
import { modifiedFields } from './qp-mask.ts'
import type { Method, WriteCommand } from './schema.ts'
import { modifyQpRequest, qpDest, queryQpRequest, reregMrRequest } from './structs.ts'
import { namedValue } from './value-names.ts'

type Values = Record<string, TraceValue>
/** The number of an object in its context, by handle. */
type Ordinal = (handle: number) => number

/** Attributes of a method as they were received, and its results. */
export interface GivenAttributes {
  readonly results: ReadonlyMap<string, Uint8Array | number>
  has(name: string): boolean
  bytes(name: string): Uint8Array
  number(name: string): number
  raw(name: string): bigint
  descriptor(name: string): number | undefined
}

/** Fields that mean nothing to the program's author. */
const hidden = new Set(['user_handle', 'reserved', 'response_length', 'mmap_info_addr', 'bad_wr'])
/** Names of fields that are left out if they are 0, their usual value. */
const silentZero = /mask$|^(create_flags|source_qpn|flags|srq|is_srq|srq_limit|limit)$/

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The fields of structures that lie in `bytes`. */
function fieldsOf(structs: readonly Struct[], bytes: Uint8Array, ordinal: Ordinal): Values {
  const values: Values = {}
  for (const struct of structs) {
    const whole = new Uint8Array(Math.max(struct.sizeBytes, bytes.length))
    whole.set(bytes)
    for (const [name, value] of Object.entries(decode(struct, whole))) put(values, struct, name, value, ordinal)
  }
  return values
}

function put(
  values: Values,
  struct: Struct,
  name: string,
  value: number | bigint | Uint8Array,
  ordinal: Ordinal,
): void {
  if (hidden.has(name) || ((value === 0 || value === 0n) && silentZero.test(name))) return
  if (typeof value === 'number' && name.endsWith('handle')) {
    if (value !== 0) values[name === 'handle' ? name : name.slice(0, -'_handle'.length)] = ordinal(value)
  } else values[name] = namedValue(nameIn(struct, name), value)
}

/** Returns the name under which a field's values are named: some names have two meanings. */
function nameIn(struct: Struct, name: string): string {
  if (struct === (reregMrRequest as Struct) && name === 'flags') return 'rereg_flags'
  return struct === (queryQpRequest as Struct) && name === 'attr_mask' ? 'qp_attr_mask' : name
}

/** The object that a verb is about, instead of its handle: `cq=3` of `ibv_create_cq_ex`. */
function ofVerb(verb: string, values: Values): Values {
  const kind = /_(pd|mr|mw|ah|cq|qp|srq)(_ex)?$/.exec(verb)?.[1]
  if (kind === undefined || values.handle === undefined) return values
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name === 'handle' ? kind : name, value]))
}

export function argumentsOf(command: WriteCommand, core: Uint8Array, ordinal: Ordinal): Values {
  const { request = [], requestAt = 0 } = command
  const values = fieldsOf(request, core.subarray(requestAt), ordinal)
  return request[0] === (modifyQpRequest as Struct) ? modification(values, core) : ofVerb(command.verb, values)
}

/** Returns those of the attributes of `ibv_modify_qp` that attr_mask names. */
function modification(values: Values, core: Uint8Array): Values {
  const mask = new DataView(core.buffer, core.byteOffset).getUint32(modifyQpRequest.fields.attr_mask[0], true)
  const shown: Values = { qp: values.qp ?? 0, attr_mask: namedValue('qp_attr_mask', mask) }
  for (const name of modifiedFields(mask)) {
    if (name === 'ah_attr') shown[name] = pathOf(core, 0)
    else if (name === 'alt_ah_attr') shown[name] = pathOf(core, qpDest.sizeBytes)
    else if (values[name] !== undefined) shown[name] = values[name]
  }
  return shown
}

/** Returns a path, without the global part if there is none. */
function pathOf(core: Uint8Array, at: number): Values {
  const { is_global, dgid, flow_label, sgid_index, hop_limit, traffic_class, ...local } = fieldsOf(
    [qpDest],
    core.subarray(at, at + qpDest.sizeBytes),
    (handle) => handle,
  )
  if (is_global === 0) return local
  return {
    ...local,
    dgid: dgid!,
    flow_label: flow_label!,
    sgid_index: sgid_index!,
    hop_limit: hop_limit!,
    traffic_class: traffic_class!,
  }
}

export function resultOf({ answer = [] }: WriteCommand, core: Uint8Array | undefined, ordinal: Ordinal): Values {
  return core === undefined ? {} : fieldsOf(answer, core, ordinal)
}

/** Returns the input attributes of a method by name. */
export function methodArguments(method: Method, call: GivenAttributes, ordinal: Ordinal): Values {
  const values: Values = {}
  for (const [name, { kind, bytes = 0, struct }] of Object.entries(method.attributes)) {
    const shown = snake(name)
    if (!call.has(name) || hidden.has(shown)) continue
    if (kind === 'object') values[shown] = ordinal(Number(call.raw(name)))
    else if (kind === 'descriptor') values[shown] = call.descriptor(name)!
    else if (kind !== 'in') continue
    else if (struct !== undefined) values[shown] = fieldsOf([struct], call.bytes(name), ordinal)
    else if (bytes <= 8 && !(call.number(name) === 0 && silentZero.test(shown)))
      values[shown] = namedValue(
        method.verb.startsWith('ibv_create_qp') && shown === 'type' ? 'qp_type' : shown,
        call.number(name),
      )
  }
  return ofVerb(method.verb, values)
}

/** Returns the output attributes of a method by name. */
export function methodResult(method: Method, call: GivenAttributes, ordinal: Ordinal): Values {
  const values: Values = {}
  for (const [name, { kind, bytes = 0, struct }] of Object.entries(method.attributes)) {
    const result = call.results.get(name)
    if (result === undefined) continue
    const shown = snake(name).replace(/_answer$/, '')
    if (typeof result === 'number') values[shown] = kind === 'new' ? ordinal(result) : result
    else if (struct !== undefined) Object.assign(values, fieldsOf([struct], result, ordinal))
    else if (bytes >= 4 && result.length <= 8) {
      const whole = new Uint8Array(8)
      whole.set(result)
      const value = new DataView(whole.buffer).getBigUint64(0, true)
      values[shown] = namedValue(shown, value <= Number.MAX_SAFE_INTEGER ? Number(value) : value)
    }
  }
  return ofVerb(method.verb, values)
}
