/** Arguments and results of commands by name, from their structures. */
import { nameOf } from '../../verbs/index.ts'
import { decode, type Struct } from '../struct.ts'
import { modifiedFields, namedValue } from '../uverbs/index.ts'
import type { TraceValue } from '../watch/index.ts'
import { addressText } from './addresses.ts'
import type { CommandName, NamedCommand } from './schema.ts'
import * as s from './structs.ts'

type Values = Record<string, TraceValue>

/** Fields that mean nothing to the program's author, or are shown with another field. */
const hidden = new Set(['response', 'uid', 'optval', 'addr_size', 'src_size', 'dst_size', 'ibdev_index', 'valid'])
/** Fields that are left out if they are 0, their usual value. */
const silentZero = new Set(['join_flags', 'qp_type', 'qkey', 'private_data_len', 'srq', 'flow_control'])
const addresses = new Set(['addr', 'src', 'dst'])

const portSpaces = { RDMA_PS_IPOIB: 0x0002, RDMA_PS_TCP: 0x0106, RDMA_PS_UDP: 0x0111, RDMA_PS_IB: 0x013f } as const
const queries = { RDMA_USER_CM_QUERY_ADDR: 0, RDMA_USER_CM_QUERY_PATH: 1, RDMA_USER_CM_QUERY_GID: 2 } as const
/** `rdma_set_option`: the names of options, by level. */
const levels = { RDMA_OPTION_ID: 0, RDMA_OPTION_IB: 1 } as const
const options: readonly Readonly<Record<string, number>>[] = [
  {
    RDMA_OPTION_ID_TOS: 0,
    RDMA_OPTION_ID_REUSEADDR: 1,
    RDMA_OPTION_ID_AFONLY: 2,
    RDMA_OPTION_ID_ACK_TIMEOUT: 3,
  },
  { RDMA_OPTION_IB_PATH: 1 },
]

/** Offset of the parameters of a connection in a request. */
const connParamAt: Readonly<Partial<Record<CommandName, number>>> = { CONNECT: 0, ACCEPT: 8 }

function fieldsOf(struct: Struct, bytes: Uint8Array): Values {
  const whole = new Uint8Array(Math.max(struct.sizeBytes, bytes.length))
  whole.set(bytes)
  const values: Values = {}
  for (const [name, value] of Object.entries(decode(struct, whole))) {
    if (hidden.has(name) || (value === 0 && silentZero.has(name))) continue
    const shown = addresses.has(name) ? addressText(value as Uint8Array) : namedValue(name, value)
    if (shown !== undefined) values[name] = shown
  }
  return values
}

export function argumentsOf({ name, request }: NamedCommand, bytes: Uint8Array): Values {
  const values = fieldsOf(request, bytes)
  const at = connParamAt[name]
  // An accept without parameters: the queue pair of the active side is ready.
  if (at !== undefined && bytes[at + s.connParam.fields.valid[0]] !== 0)
    Object.assign(values, fieldsOf(s.connParam, bytes.subarray(at, at + s.connParam.sizeBytes)))
  if (name === 'CREATE_ID') values.ps = nameOf(portSpaces, values.ps as number)
  if (name === 'QUERY') values.option = nameOf(queries, values.option as number)
  if (name === 'SET_OPTION') {
    values.optname = nameOf(options[values.level as number] ?? {}, values.optname as number)
    values.level = nameOf(levels, values.level as number)
  }
  return values
}

export function resultOf({ name, answer }: NamedCommand, bytes: Uint8Array): Values {
  // What the answer of QUERY is depends on what was asked for.
  if (name === 'QUERY')
    return bytes.length < s.queryAddrAnswer.sizeBytes ? fieldsOf(s.queryPathAnswer, bytes) : addressesOf(bytes)
  if (answer === undefined) return {}
  const values = fieldsOf(answer, bytes)
  if (name === 'INIT_QP_ATTR') return attributesOf(values, bytes)
  if (name !== 'QUERY_ROUTE') return values
  const { src, dst, num_paths } = values
  return { ...(src === undefined ? {} : { src }), ...(dst === undefined ? {} : { dst }), num_paths: num_paths! }
}

function addressesOf(bytes: Uint8Array): Values {
  const { src, dst, port_num } = fieldsOf(s.queryAddrAnswer, bytes)
  return { ...(src === undefined ? {} : { src }), ...(dst === undefined ? {} : { dst }), port_num: port_num! }
}

/** Returns those of the attributes that qp_attr_mask names; paths follow from the addresses. */
function attributesOf(values: Values, bytes: Uint8Array): Values {
  const mask = new DataView(bytes.buffer, bytes.byteOffset).getUint32(s.qpAttr.fields.qp_attr_mask[0], true)
  const shown: Values = { qp_attr_mask: namedValue('qp_attr_mask', mask) }
  for (const name of modifiedFields(mask)) if (values[name] !== undefined) shown[name] = values[name]
  return shown
}
