/** Handlers of commands. */
import type { Handler } from './command.ts'
import * as connections from './connection-commands.ts'
import * as groups from './group-commands.ts'
import * as ids from './id-commands.ts'
import * as queries from './query-commands.ts'
import type { CommandName } from './schema.ts'

export const commandHandlers: Readonly<Record<Exclude<CommandName, 'GET_EVENT'>, Handler>> = {
  CREATE_ID: ids.createId,
  DESTROY_ID: ids.destroyId,
  BIND_IP: ids.bindIp,
  RESOLVE_IP: ids.resolveIp,
  RESOLVE_ROUTE: ids.resolveRoute,
  QUERY_ROUTE: queries.queryRoute,
  CONNECT: connections.connect,
  LISTEN: connections.listen,
  ACCEPT: connections.accept,
  REJECT: connections.reject,
  DISCONNECT: connections.disconnect,
  INIT_QP_ATTR: queries.initQpAttr,
  SET_OPTION: ids.setOption,
  NOTIFY: connections.notify,
  JOIN_IP_MCAST: groups.joinIp,
  LEAVE_MCAST: groups.leave,
  MIGRATE_ID: ids.migrateId,
  QUERY: queries.query,
  BIND: ids.bind,
  RESOLVE_ADDR: ids.resolveAddr,
  JOIN_MCAST: groups.join,
}
