/**
 * Methods of ioctl(2), as RDMA_VERBS_IOCTL carries them: a header, and attributes that are found by their numbers.
 *
 *     header 24     u16 length, object, method, count; u64 0; u32 driver, 0
 *     attribute 16  u16 id, length, flags (1 mandatory, 2 was written); u16 0; u64 data
 *
 * Input of up to 8 bytes is in the attribute, all other data at the address in it; handles and numbers of descriptors are in it in both
 * directions. The order of checks, and the result of each, is the kernel's (uverbs_ioctl.c).
 */
import { errnos } from '../../memory/index.ts'
import type { Call } from '../door.ts'
import { Errno, verbsRequest } from '../door.ts'
import { safe } from '../struct.ts'
import { asErrno, fail } from './errors.ts'
import { type GivenAttribute, MethodCall } from './method-call.ts'
import { methodHandlers } from './methods.ts'
import type { ProgramContext } from './program-context.ts'
import {
  type Attribute,
  driverIn,
  driverOut,
  type Method,
  type MethodName,
  methods,
  optionalMethods,
  rxeDriver,
  unservedMethods,
} from './schema.ts'

const headerBytes = 24
const attributeBytes = 16
const longest = 4096
const mandatory = 1

interface Known extends Method {
  readonly name: MethodName
}

const byKey = new Map<number, Known>(
  (Object.entries(methods) as [MethodName, Method][]).map(([name, method]) => [
    method.object * 65536 + method.method,
    { ...method, name },
  ]),
)

/** Executes a method; returns 0. */
export function callMethod(context: ProgramContext, call: Call, request: number, argument: number): number {
  if (request !== verbsRequest) fail('ENOTTY', `ioctl 0x${request.toString(16)} is none of an RDMA device`)
  const header = new Uint8Array(headerBytes)
  call.process.read(argument, header)
  const view = new DataView(header.buffer)
  const length = view.getUint16(0, true)
  const count = view.getUint16(6, true)
  if (length > longest || length !== headerBytes + count * attributeBytes)
    fail('EINVAL', `an ioctl of ${length} bytes does not hold ${count} attributes`)
  if (view.getBigUint64(8, true) !== 0n || view.getUint32(20, true) !== 0)
    fail('EPROTONOSUPPORT', 'reserved words of an ioctl are not zero')
  const driver = view.getUint32(16, true)
  if (driver !== rxeDriver) fail('EINVAL', `the driver of this device is rxe (${rxeDriver}), not ${driver}`)
  const object = view.getUint16(2, true)
  const method = view.getUint16(4, true)
  const known = byKey.get(object * 65536 + method)
  if (known === undefined) throw unserved(object, method)
  const bytes = new Uint8Array(count * attributeBytes)
  call.process.read(argument + headerBytes, bytes)
  const attributes = given(known, call, new DataView(bytes.buffer), count)
  if (!context.opened && !beforeContext.has(known.name))
    fail('EINVAL', `${known.verb}: the device was opened without a context`)
  run(context, known, new MethodCall(known, call, argument + headerBytes, attributes))
  return 0
}

function unserved(object: number, method: number): Errno {
  const verb = unservedMethods.get(`${object} ${method}`) ?? unservedMethods.get(`${object}`)
  const said = `method ${method} of object ${object} is not served by this adapter`
  const isOptional = optionalMethods.has(`${object} ${method}`)
  return new Errno(errnos.EPROTONOSUPPORT, verb === undefined ? said : `${verb}: ${said}`, isOptional)
}

/** Methods that may be called before there is a context: the one that makes it, and the one that may wrap that. */
const beforeContext: ReadonlySet<MethodName> = new Set(['INVOKE_WRITE', 'GET_CONTEXT'])

function run(context: ProgramContext, known: Known, method: MethodCall): void {
  const { name, verb } = known
  let undo: (() => void) | undefined
  // What that wraps is the command.
  if (name !== 'INVOKE_WRITE') context.watch?.method(known, method)
  try {
    undo = methodHandlers[name](context, method) ?? undefined
    method.writeBack()
  } catch (error) {
    undo?.()
    throw asErrno(error, verb)
  }
}

function given(known: Known, call: Call, view: DataView, count: number): Map<number, GivenAttribute> {
  const attributes = new Map<number, GivenAttribute>()
  const specs = specsOf(known)
  for (let i = 0; i < count; i++) {
    const at = i * attributeBytes
    const id = view.getUint16(at, true)
    const length = view.getUint16(at + 2, true)
    const flags = view.getUint16(at + 4, true)
    const spec = specs.get(id)
    if (spec === undefined) {
      if ((flags & mandatory) === 0) continue
      fail('EPROTONOSUPPORT', `${known.verb}: attribute 0x${id.toString(16)} is not known to this adapter`)
    }
    const { name, kind, bytes = 0, knownBytes } = spec
    if (attributes.has(id)) fail('EINVAL', `${known.verb}: attribute ${name} is there twice`)
    if (view.getUint16(at + 6, true) !== 0) fail('EINVAL', `${known.verb}: reserved bits of attribute ${name}`)
    const isData = kind === 'in' || kind === 'out'
    if (isData ? length < bytes : length !== 0)
      fail('EINVAL', `${known.verb}: attribute ${name} has ${length} bytes${isData ? `, not ${bytes}` : ''}`)
    const low = view.getUint32(at + 8, true)
    const high = view.getUint32(at + 12, true)
    let value = new Uint8Array(0)
    if (kind === 'in') {
      value = new Uint8Array(length)
      if (length <= 8) value.set(new Uint8Array(view.buffer, at + 8, length))
      else call.process.read(address(low, high), value)
      for (let b = knownBytes ?? length; b < length; b++)
        if (value[b] !== 0) fail('EOPNOTSUPP', `${known.verb}: attribute ${name} is longer than what is known of it`)
    }
    attributes.set(id, { index: i, length, low, high, value, flags })
  }
  for (const [id, { name, optional }] of specs)
    if (optional !== true && !attributes.has(id)) fail('EINVAL', `${known.verb}: attribute ${name} is missing`)
  return attributes
}

interface Named extends Attribute {
  readonly name: string
}

const specs = new Map<Known, Map<number, Named>>()
const driverData: readonly Named[] = [
  { name: 'driver data', id: driverIn, kind: 'in', bytes: 0, optional: true },
  { name: 'driver answer', id: driverOut, kind: 'out', bytes: 0, optional: true },
]

function specsOf(known: Known): Map<number, Named> {
  let found = specs.get(known)
  if (found === undefined) {
    const named = Object.entries(known.attributes).map(([name, attribute]) => ({ ...attribute, name }))
    found = new Map([...named, ...driverData].map((attribute) => [attribute.id, attribute]))
    specs.set(known, found)
  }
  return found
}

function address(low: number, high: number): number {
  const at = safe(low, high)
  if (at === Number.POSITIVE_INFINITY) throw new Errno(errnos.EFAULT, 'an address of an ioctl is none of a process')
  return at
}
