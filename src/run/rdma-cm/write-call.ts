/**
 * Commands of write(2): u32 command, u16 in, u16 out, and `in` bytes of the request; `out` is the room for an answer, whose address
 * is in the request. The order of checks, and what each answers, is the kernel's (ucma_write and what it calls).
 */
import type { Call, Result } from '../door.ts'
import { fail } from '../errnos.ts'
import { safe } from '../struct.ts'
import { commandHandlers } from './commands.ts'
import { asErrno } from './errors.ts'
import { type CommandName, type CommandSchema, commands, type NamedCommand, unserved } from './schema.ts'
import type { CmFile } from './station.ts'
import * as s from './structs.ts'

const headerBytes = 8

const byNumber = new Map<number, NamedCommand>(
  (Object.entries(commands) as [CommandName, CommandSchema][]).map(([name, schema]) => [
    schema.number,
    { ...schema, name },
  ]),
)

/** Returns the offset of the answer's address in a request. */
const responseAt = (name: CommandName): number => (name === 'CREATE_ID' ? s.createId.fields.response[0] : 0)

export function writeCommand(file: CmFile, call: Call, address: number, length: number): Result {
  if (length < headerBytes) fail('EINVAL', `a command of ${length} bytes is shorter than its header`)
  const header = new Uint8Array(headerBytes)
  call.process.read(address, header)
  const view = new DataView(header.buffer)
  const number = view.getUint32(0, true)
  const inBytes = view.getUint16(4, true)
  const room = view.getUint16(6, true)
  const known = byNumber.get(number)
  if (known === undefined && unserved[number] === undefined) fail('EINVAL', `rdma_cm has no command ${number}`)
  if (inBytes + headerBytes > length)
    fail('EINVAL', `${known?.verb ?? number}: the header says ${inBytes} bytes, and ${length - headerBytes} follow it`)
  if (known === undefined) fail('ENOSYS', `${unserved[number]} is not served`)
  const { name, verb, leastBytes, answerBytes } = known
  const requestBytes = known.request.sizeBytes
  if (room < answerBytes) fail('ENOSPC', `${verb}: room for ${room} bytes of answer is less than ${answerBytes}`)
  // The kernel copies the whole structure, whatever length the header has, except for structures that have grown.
  const bytes = leastBytes === undefined ? requestBytes : Math.min(inBytes, requestBytes)
  if (bytes < (leastBytes ?? 0)) fail('EINVAL', `${verb}: a request of ${inBytes} bytes is shorter than ${leastBytes}`)
  const request = new Uint8Array(requestBytes)
  call.process.read(address + headerBytes, request.subarray(0, bytes))
  file.watch?.command(known, request)
  if (name === 'GET_EVENT') return file.getEvent(call, addressIn(request, 0), Math.min(room, s.event.sizeBytes), length)
  try {
    const answer = commandHandlers[name]({ file, call, verb, request, room })
    if (answer === undefined) return length
    file.watch?.answered(known, answer.bytes)
    try {
      call.process.write(addressIn(request, responseAt(name)), answer.bytes.subarray(0, room))
    } catch (error) {
      answer.undo?.()
      throw error
    }
    return length
  } catch (error) {
    throw asErrno(error, verb)
  }
}

function addressIn(request: Uint8Array, at: number): number {
  const view = new DataView(request.buffer)
  const address = safe(view.getUint32(at, true), view.getUint32(at + 4, true))
  if (address === Number.POSITIVE_INFINITY) fail('EFAULT', 'the address of the answer is none of a process')
  return address
}
