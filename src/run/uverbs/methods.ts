/** Handlers of the methods of ioctl(2). */
import { errnos } from '../../memory/index.ts'
import { Errno } from '../door.ts'
import { createCqMethod, destroyCqMethod } from './cq-verbs.ts'
import {
  allocAsyncEvent,
  getContextMethod,
  queryContextMethod,
  queryGidEntry,
  queryGidTable,
  queryPortMethod,
} from './device-verbs.ts'
import { destroyMethod, queryMr } from './memory-verbs.ts'
import type { MethodCall } from './method-call.ts'
import type { ProgramContext } from './program-context.ts'
import { createQpMethod, destroyQpMethod } from './qp-verbs.ts'
import type { MethodName } from './schema.ts'
import { createSrqMethod, destroySrqMethod } from './srq-verbs.ts'
import { commandOf, execute } from './write-call.ts'

/** Returns a function that reverts the call, if the answer cannot be written. */
// biome-ignore lint/suspicious/noConfusingVoidType: most handlers have nothing to take back, and no return
type Handler = (context: ProgramContext, method: MethodCall) => (() => void) | void

/** Executes a write command whose request and response are attributes. */
function invokeWrite(context: ProgramContext, method: MethodCall): (() => void) | undefined {
  const known = commandOf(method.number('command'))
  const core = method.bytes('coreIn')
  const coreRoom = method.room('coreOut')
  const { verb, requestBytes, responseBytes } = known
  if (core.length < requestBytes || coreRoom < responseBytes)
    throw new Errno(
      errnos.ENOSPC,
      `${verb}: ${core.length} bytes of request and room for ${coreRoom} of response; it takes ${requestBytes} and ${responseBytes}`,
      // Libraries find out so whether commands may come by ioctl(2).
      core.length + coreRoom === 0,
    )
  const { driver, driverRoom } = method
  const answer = execute(context, known, { call: method.call, core, driver, coreRoom, driverRoom })
  if (answer.core) method.answer('coreOut', answer.core)
  method.answerDriver(answer.driver)
  return answer.undo
}

export const methodHandlers: Readonly<Record<MethodName, Handler>> = {
  INVOKE_WRITE: invokeWrite,
  QUERY_PORT: queryPortMethod,
  GET_CONTEXT: getContextMethod,
  QUERY_CONTEXT: queryContextMethod,
  QUERY_GID_TABLE: queryGidTable,
  QUERY_GID_ENTRY: queryGidEntry,
  PD_DESTROY: destroyMethod('pd'),
  CQ_CREATE: createCqMethod,
  CQ_DESTROY: destroyCqMethod,
  QP_CREATE: createQpMethod,
  QP_DESTROY: destroyQpMethod,
  SRQ_CREATE: createSrqMethod,
  SRQ_DESTROY: destroySrqMethod,
  AH_DESTROY: destroyMethod('ah'),
  MR_DESTROY: destroyMethod('mr'),
  MR_QUERY: queryMr,
  MW_DESTROY: destroyMethod('mw'),
  ASYNC_EVENT_ALLOC: allocAsyncEvent,
}
