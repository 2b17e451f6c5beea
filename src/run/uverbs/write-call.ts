/**
 * Commands of write(2): a header of 8 bytes, the request, data of the provider; the request begins with the address of the response,
 * where there is one. Extended commands have 16 bytes more in front and count in 8 bytes:
 *
 *     plain      u32 command, u16 in_words, u16 out_words (4 bytes each; in counts the header)
 *     extended   the same (8 bytes each, headers not counted), u64 response, u16 provider_in_words, u16 provider_out_words, u32 0
 *
 * Libraries since rdma-core 22 send the same request by the ioctl INVOKE_WRITE, with attributes in place of headers. The order of
 * checks, and what each answers, is the kernel's (verify_hdr, ib_uverbs_write).
 */
import { errnos } from '../../memory/index.ts'
import type { Call } from '../door.ts'
import { Errno } from '../door.ts'
import { safe } from '../struct.ts'
import type { Answer, Command } from './command.ts'
import { commandHandlers } from './commands.ts'
import { asErrno, fail } from './errors.ts'
import type { ProgramContext } from './program-context.ts'
import { unservedCommands, type WriteCommand, type WriteCommandName, writeCommands } from './schema.ts'

const headerBytes = 8
const extendedHeaderBytes = 24
const extendedBit = 0x80000000
const commandMask = 0xff
/** Maximum bytes of a command: longer than any with data of any provider. */
const longest = 65_536

interface Known extends WriteCommand {
  readonly name: WriteCommandName
}

const byNumber = new Map<number, Known>(
  (Object.entries(writeCommands) as [WriteCommandName, WriteCommand][]).map(([name, command]) => [
    command.number + (command.extended ? extendedBit : 0),
    { ...command, name },
  ]),
)

/** Returns the command of a header; EINVAL for bits that mean nothing, EOPNOTSUPP for one that is not served. */
export function commandOf(command: number): Known {
  if ((command & ~(extendedBit | commandMask)) !== 0)
    fail('EINVAL', `write command 0x${command.toString(16)} has bits that mean nothing`)
  const known = byNumber.get(command >>> 0)
  if (known === undefined) {
    const verb = unservedCommands.get(command >>> 0)
    const said = `${command >>> 31 === 1 ? 'extended ' : ''}write command ${command & commandMask}`
    fail('EOPNOTSUPP', `${verb === undefined ? said : `${verb}: ${said}`} is not served by this adapter`)
  }
  return known
}

/** Executes a command that was checked. */
export function execute(context: ProgramContext, known: Known, command: Omit<Command, 'verb'>): Answer {
  const { name, verb, knownBytes, requestBytes } = known
  const all = knownBytes ?? requestBytes
  if (!context.opened && name !== 'GET_CONTEXT') fail('EINVAL', `${verb}: the device was opened without a context`)
  for (let i = all; i < command.core.length; i++)
    if (command.core[i] !== 0) fail('EOPNOTSUPP', `${verb}: the request is longer than the ${all} bytes that are known`)
  const core = new Uint8Array(Math.max(all, command.core.length))
  core.set(command.core)
  context.watch?.command(known, core)
  try {
    const answer = commandHandlers[name](context, { ...command, core, verb })
    context.watch?.answered(known, answer.core)
    return answer
  } catch (error) {
    throw asErrno(error, verb)
  }
}

/** Executes `write(2)` of a whole command; returns the number of bytes taken, all of them. */
export function writeCommand(context: ProgramContext, call: Call, address: number, length: number): number {
  if (length < headerBytes) fail('EINVAL', `a write command of ${length} bytes is shorter than its header`)
  if (length > longest) fail('EINVAL', `a write command of ${length} bytes is longer than any`)
  const bytes = new Uint8Array(length)
  call.process.read(address, bytes)
  const view = new DataView(bytes.buffer)
  const known = commandOf(view.getUint32(0, true))
  const parts = known.extended ? extendedParts(known, bytes, view) : plainParts(known, bytes, view)
  const answer = execute(context, known, { call, ...parts })
  // A file has one context: this is reported once for each, whatever else a program tries.
  if (known.name === 'GET_CONTEXT') context.station.onOldLibrary(call.process.pid)
  respond(call, answer, parts)
  return length
}

interface Parts {
  core: Uint8Array
  driver: Uint8Array
  coreRoom: number
  driverRoom: number
  response: number
}

function plainParts({ verb, number, requestBytes, responseBytes }: Known, bytes: Uint8Array, view: DataView): Parts {
  const inBytes = view.getUint16(4, true) * 4
  const outBytes = view.getUint16(6, true) * 4
  if (inBytes !== bytes.length)
    fail('EINVAL', `${verb}: in_words says ${inBytes} bytes, and ${bytes.length} were written`)
  let { length } = bytes
  // rdma-core 18 and 19 send DESTROY_CQ without its last words, which mean nothing.
  const isShortDestroy = number === writeCommands.DESTROY_CQ.number && length === 16
  if (isShortDestroy) length = headerBytes + requestBytes
  if (length < headerBytes + requestBytes)
    fail('ENOSPC', `${verb}: a request of ${length - headerBytes} bytes is shorter than ${requestBytes}`)
  if (outBytes < responseBytes)
    fail('ENOSPC', `${verb}: room for ${outBytes} bytes of response is less than ${responseBytes}`)
  const end = headerBytes + requestBytes
  const core = new Uint8Array(requestBytes)
  core.set(bytes.subarray(headerBytes, end))
  return {
    core,
    driver: bytes.slice(end),
    coreRoom: responseBytes,
    driverRoom: outBytes - responseBytes,
    response: responseBytes > 0 ? addressAt(view, headerBytes) : 0,
  }
}

function extendedParts({ verb, requestBytes, responseBytes }: Known, bytes: Uint8Array, view: DataView): Parts {
  if (bytes.length < extendedHeaderBytes) fail('EINVAL', `${verb}: ${bytes.length} bytes are shorter than the headers`)
  const inBytes = view.getUint16(4, true) * 8
  const outBytes = view.getUint16(6, true) * 8
  const driverIn = view.getUint16(16, true) * 8
  const driverOut = view.getUint16(18, true) * 8
  const response = addressAt(view, 8)
  if (inBytes + driverIn !== bytes.length - extendedHeaderBytes)
    fail('EINVAL', `${verb}: the headers say ${inBytes + driverIn} bytes, and ${bytes.length} were written`)
  if (inBytes < requestBytes) fail('ENOSPC', `${verb}: a request of ${inBytes} bytes is shorter than ${requestBytes}`)
  if (view.getUint32(20, true) !== 0) fail('EINVAL', `${verb}: reserved words of the header are not zero`)
  if (response === 0) {
    if (outBytes > 0 || driverOut > 0) fail('EINVAL', `${verb}: room for a response, and no address of it`)
  } else {
    if (outBytes === 0 && driverOut === 0) fail('EINVAL', `${verb}: an address of a response, and no room`)
    if (outBytes < responseBytes)
      fail('ENOSPC', `${verb}: room for ${outBytes} bytes of response is less than ${responseBytes}`)
  }
  return {
    core: bytes.slice(extendedHeaderBytes, extendedHeaderBytes + inBytes),
    driver: bytes.slice(extendedHeaderBytes + inBytes),
    coreRoom: outBytes,
    driverRoom: driverOut,
    response,
  }
}

function addressAt(view: DataView, at: number): number {
  const address = safe(view.getUint32(at, true), view.getUint32(at + 4, true))
  if (address === Number.POSITIVE_INFINITY)
    throw new Errno(errnos.EFAULT, 'the address of the response is none of a process')
  return address
}

/** Writes the part of the answer that there is room for, followed by zeros. */
function respond(call: Call, { core, driver, undo }: Answer, { coreRoom, driverRoom, response }: Parts): void {
  if (coreRoom + driverRoom === 0) return
  const bytes = new Uint8Array(coreRoom + Math.min(driverRoom, driver?.length ?? 0))
  if (core) bytes.set(core.subarray(0, coreRoom))
  if (driver) bytes.set(driver.subarray(0, driverRoom), coreRoom)
  try {
    call.process.write(response, bytes)
  } catch (error) {
    undo?.()
    throw error
  }
}
