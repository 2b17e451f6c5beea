/** Handlers of write commands. */
import type { Answer, Command } from './command.ts'
import { createCompChannel, createCq, destroyCq, exCreateCq, modifyCq, reqNotifyCq, resizeCq } from './cq-verbs.ts'
import { exQueryDevice, getContext, queryDevice, queryPortCommand } from './device-verbs.ts'
import { allocMw, allocPd, createAh, destroyCommand, regMr, reregMr } from './memory-verbs.ts'
import type { ProgramContext } from './program-context.ts'
import {
  attachMcast,
  createQp,
  destroyQp,
  detachMcast,
  exCreateQp,
  exModifyQp,
  modifyQp,
  postSend,
  queryQp,
} from './qp-verbs.ts'
import type { WriteCommandName } from './schema.ts'
import { createSrq, createXsrq, destroySrq, modifySrq, querySrq } from './srq-verbs.ts'

type Handler = (context: ProgramContext, command: Command) => Answer

export const commandHandlers: Readonly<Record<WriteCommandName, Handler>> = {
  GET_CONTEXT: getContext,
  QUERY_DEVICE: queryDevice,
  QUERY_PORT: queryPortCommand,
  ALLOC_PD: allocPd,
  DEALLOC_PD: destroyCommand('pd'),
  CREATE_AH: createAh,
  DESTROY_AH: destroyCommand('ah'),
  REG_MR: regMr,
  REREG_MR: reregMr,
  DEREG_MR: destroyCommand('mr'),
  ALLOC_MW: allocMw,
  DEALLOC_MW: destroyCommand('mw'),
  CREATE_COMP_CHANNEL: createCompChannel,
  CREATE_CQ: createCq,
  RESIZE_CQ: resizeCq,
  DESTROY_CQ: destroyCq,
  REQ_NOTIFY_CQ: reqNotifyCq,
  CREATE_QP: createQp,
  QUERY_QP: queryQp,
  MODIFY_QP: modifyQp,
  DESTROY_QP: destroyQp,
  POST_SEND: postSend,
  ATTACH_MCAST: attachMcast,
  DETACH_MCAST: detachMcast,
  CREATE_SRQ: createSrq,
  MODIFY_SRQ: modifySrq,
  QUERY_SRQ: querySrq,
  DESTROY_SRQ: destroySrq,
  CREATE_XSRQ: createXsrq,
  EX_QUERY_DEVICE: exQueryDevice,
  EX_CREATE_CQ: exCreateCq,
  EX_CREATE_QP: exCreateQp,
  EX_MODIFY_QP: exModifyQp,
  EX_MODIFY_CQ: modifyCq,
}
