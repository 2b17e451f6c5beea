/** Multicast groups: joined and left. The program attaches its queue pair itself, once the event reports that it may. */
import { fail } from '../errnos.ts'
import { decode } from '../struct.ts'
import { decodeAddress } from './addresses.ts'
import type { Answer, Command } from './command.ts'
import { idOf, numberAnswer } from './id-commands.ts'
import * as s from './structs.ts'

export function joinIp(command: Command): Answer {
  const { uid, addr, id } = decode(s.joinIpMcast, command.request)
  return joinAddress(command, id, uid, decodeAddress(command.verb, addr).address)
}

/** Full members, and those that only send. */
const mostFlags = 1

export function join(command: Command): Answer {
  const { verb, request } = command
  const { uid, addr, addr_size, join_flags, id } = decode(s.joinMcast, request)
  if (join_flags > mostFlags) fail('EINVAL', `${verb}: join_flags is ${join_flags}; 0 and 1 are known`)
  return joinAddress(command, id, uid, decodeAddress(verb, addr, addr_size).address)
}

function joinAddress(command: Command, number: number, uid: bigint, address: string): Answer {
  const { door } = command.file
  const id = idOf(command, number)
  const join = door.addJoin(id, uid, address)
  try {
    id.cm.joinMulticast({ address }, join)
  } catch (error) {
    door.forgetJoin(join)
    throw error
  }
  return {
    bytes: numberAnswer(join.number),
    undo() {
      door.forgetJoin(join)
      id.cm.leaveMulticast({ address })
    },
  }
}

export function leave(command: Command): Answer {
  const { file, verb, request } = command
  const join = file.door.join(verb, file, decode(s.destroyId, request).id)
  file.door.forgetJoin(join)
  join.id.cm.leaveMulticast({ address: join.address })
  return { bytes: numberAnswer(join.reported) }
}
