/** The commands of rdma_cm (rdma_user_cm.h), by number: the functions that send them, and the layout of requests and answers. */
import type { Struct } from '../struct.ts'
import * as s from './structs.ts'

export interface CommandSchema {
  readonly number: number
  /** Function of librdmacm that sends the command. */
  readonly verb: string
  readonly request: Struct
  /** Minimum bytes of the request that old libraries send. */
  readonly leastBytes?: number
  /** Minimum room for an answer; 0 without one. */
  readonly answerBytes: number
  /** Part of an answer that a trace shows. */
  readonly answer?: Struct
}

const plain = (
  number: number,
  verb: string,
  request: Struct & { readonly leastBytes?: number },
  answerBytes = 0,
  answer?: Struct,
): CommandSchema => {
  const { leastBytes } = request
  return {
    ...{ number, verb, request, answerBytes },
    ...(leastBytes === undefined ? {} : { leastBytes }),
    ...(answer === undefined ? {} : { answer }),
  }
}

/** Returns the structure of an answer of one number with this name. */
const one = (name: string): Struct => ({ sizeBytes: 4, fields: { [name]: [0, 'u32'] } })
const newId = one('id')
const newGroup = one('group')
const reported = one('events_reported')

/** Returns the length of an answer before its `ibdev_index`: that field, and those after it, were added later. */
const upTo = (field: readonly [number, string]): number => field[0]

export type CommandName =
  | 'CREATE_ID'
  | 'DESTROY_ID'
  | 'BIND_IP'
  | 'RESOLVE_IP'
  | 'RESOLVE_ROUTE'
  | 'QUERY_ROUTE'
  | 'CONNECT'
  | 'LISTEN'
  | 'ACCEPT'
  | 'REJECT'
  | 'DISCONNECT'
  | 'INIT_QP_ATTR'
  | 'GET_EVENT'
  | 'SET_OPTION'
  | 'NOTIFY'
  | 'JOIN_IP_MCAST'
  | 'LEAVE_MCAST'
  | 'MIGRATE_ID'
  | 'QUERY'
  | 'BIND'
  | 'RESOLVE_ADDR'
  | 'JOIN_MCAST'

export interface NamedCommand extends CommandSchema {
  readonly name: CommandName
}

export const commands: Readonly<Record<CommandName, CommandSchema>> = {
  CREATE_ID: plain(0, 'rdma_create_id', s.createId, 4, newId),
  DESTROY_ID: plain(1, 'rdma_destroy_id', s.destroyId, 4, reported),
  BIND_IP: plain(2, 'rdma_bind_addr', s.bindIp),
  RESOLVE_IP: plain(3, 'rdma_resolve_addr', s.resolveIp),
  RESOLVE_ROUTE: plain(4, 'rdma_resolve_route', s.resolveRoute),
  QUERY_ROUTE: plain(
    5,
    'rdma_cm QUERY_ROUTE',
    s.queryRoute,
    upTo(s.queryRouteAnswer.fields.ibdev_index),
    s.queryRouteAnswer,
  ),
  CONNECT: plain(6, 'rdma_connect', s.connect),
  LISTEN: plain(7, 'rdma_listen', s.listen),
  ACCEPT: plain(8, 'rdma_accept', s.accept),
  REJECT: plain(9, 'rdma_reject', s.reject),
  DISCONNECT: plain(10, 'rdma_disconnect', s.disconnect),
  INIT_QP_ATTR: plain(11, 'rdma_init_qp_attr', s.initQpAttr, s.qpAttr.sizeBytes, s.qpAttr),
  GET_EVENT: plain(12, 'rdma_get_cm_event', s.getEvent, s.eventParamAt + s.udParam.sizeBytes),
  SET_OPTION: plain(14, 'rdma_set_option', s.setOption),
  NOTIFY: plain(15, 'rdma_notify', s.notify),
  JOIN_IP_MCAST: plain(16, 'rdma_join_multicast', s.joinIpMcast, 4, newGroup),
  LEAVE_MCAST: plain(17, 'rdma_leave_multicast', s.destroyId, 4, reported),
  MIGRATE_ID: plain(18, 'rdma_migrate_id', s.migrateId, 4, reported),
  QUERY: plain(19, 'rdma_cm QUERY', s.query, s.queryPathAnswer.sizeBytes),
  BIND: plain(20, 'rdma_bind_addr', s.bind),
  RESOLVE_ADDR: plain(21, 'rdma_resolve_addr', s.resolveAddr),
  JOIN_MCAST: plain(22, 'rdma_join_multicast_ex', s.joinMcast, 4, newGroup),
}

/** Commands that are not served: GET_OPTION, which no kernel has served, and those after 22. */
export const unserved: Readonly<Record<number, string>> = {
  13: 'GET_OPTION',
  23: 'RESOLVE_IB_SERVICE',
  24: 'WRITE_CM_EVENT',
}
