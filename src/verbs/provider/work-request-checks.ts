/**
 * Checks that a work request that was made field by field has only values that a literal may have. `isRight` is for the data path: a look
 * at each field, no text. `wrongIn` describes the error.
 */
import { describe } from './arguments.ts'
import { FlushPlacement, nameOf, Opcode } from './constants.ts'
import { VerbsError } from './errors.ts'
import { hasOpcode, operandKind, operandsOf, remoteOpcodes } from './operations.ts'
import { allFlags, integer, long, maxAddress, type SendWorkRequest, word } from './work-request.ts'

const longestElement = 0x7fffffff
const allPlacements = FlushPlacement.Global | FlushPlacement.Persistent

/** Returns true for an integer from 0 to `max`; small ones are recognised at once. */
function isUpTo(value: number, max: number): boolean {
  return typeof value === 'number' && ((value | 0) === value || Number.isInteger(value)) && value >= 0 && value <= max
}

/** Returns true for a 32-bit key or immediate, signed or unsigned. */
function isWord(value: number): boolean {
  return typeof value === 'number' && ((value | 0) === value || value >>> 0 === value)
}

export function isRight(wr: SendWorkRequest): boolean {
  const { opcode, sendFlags, sgList } = wr
  if (typeof sendFlags !== 'number' || (sendFlags & allFlags) !== sendFlags || !isUpTo(wr.wrId, maxAddress))
    return false
  for (let i = 0; i < sgList.length; i++) {
    const sge = sgList[i]!
    if (!isWord(sge.lkey) || !isUpTo(sge.addr, maxAddress) || !isUpTo(sge.length, longestElement)) return false
  }
  if (hasOpcode(remoteOpcodes, opcode) && !(isWord(wr.rkey) && isUpTo(wr.remoteAddr, maxAddress))) return false
  if (wr.ah !== null && !(typeof wr.ah === 'object' && isUpTo(wr.remoteQpn, 0xffffff) && isWord(wr.remoteQkey)))
    return false
  const operands = operandsOf[opcode]!
  return operands === operandKind.none || operandsRight(wr, operands)
}

function operandsRight(wr: SendWorkRequest, operands: number): boolean {
  switch (operands) {
    case operandKind.immediate:
      return isWord(wr.immData)
    case operandKind.key:
      return isWord(wr.invalidateRkey)
    case operandKind.swap:
    case operandKind.add:
      return typeof wr.compareAdd === 'bigint' && typeof wr.swap === 'bigint'
    case operandKind.flush:
      return (
        isUpTo(wr.flushLength, 0xffffffff) &&
        isUpTo(wr.placement, allPlacements) &&
        wr.placement > 0 &&
        isUpTo(wr.selectivity, 1)
      )
    default:
      return true
  }
}

/** EINVAL that names the field of a request that is not right. */
export function wrongIn(wr: SendWorkRequest): VerbsError {
  const { opcode } = wr
  const verb = `wr.${nameOf(Opcode, opcode)}`
  try {
    const flags = integer(verb, 'wrFlags', wr.sendFlags, 0xffff)
    if ((flags & ~allFlags) !== 0) return wrong(verb, `wrFlags has unknown bits 0x${(flags & ~allFlags).toString(16)}`)
    integer(verb, 'wrId', wr.wrId, maxAddress)
    for (const { addr, length, lkey } of wr.sgList) {
      word('wr.setSge', 'lkey', lkey)
      integer('wr.setSge', 'addr', addr, maxAddress)
      integer('wr.setSge', 'length', length, longestElement)
    }
    if (hasOpcode(remoteOpcodes, opcode)) {
      word(verb, 'rkey', wr.rkey)
      integer(verb, 'remoteAddr', wr.remoteAddr, maxAddress)
    }
    if (wr.ah !== null) {
      if (typeof wr.ah !== 'object')
        return wrong('wr.setUdAddr', `ah must be an address handle, not ${describe(wr.ah)}`)
      integer('wr.setUdAddr', 'remoteQpn', wr.remoteQpn, 0xffffff)
      word('wr.setUdAddr', 'remoteQkey', wr.remoteQkey)
    }
    switch (operandsOf[opcode]) {
      case operandKind.immediate:
        word(verb, 'immData', wr.immData)
        break
      case operandKind.key:
        word(verb, 'invalidateRkey', wr.invalidateRkey)
        break
      case operandKind.swap:
        long(verb, 'compare', wr.compareAdd)
        long(verb, 'swap', wr.swap)
        break
      case operandKind.add:
        long(verb, 'add', wr.compareAdd)
        break
      case operandKind.flush:
        integer(verb, 'length', wr.flushLength, 0xffffffff)
        integer(verb, 'placement', wr.placement, allPlacements)
        if (wr.placement === 0) return wrong(verb, 'placement must have a bit of FlushPlacement')
        integer(verb, 'selectivity', wr.selectivity, 1)
    }
  } catch (error) {
    return error as VerbsError
  }
  return wrong(verb, 'a field has a value of the wrong type')
}

function wrong(verb: string, message: string): VerbsError {
  return new VerbsError('EINVAL', verb, message)
}
