/**
 * Asynchronous contexts of callbacks: the contexts that `AsyncLocalStorage` shows to them.
 *
 * An immediate, a timer or a promise runs in the context of the code that made it. One that serves many users (the chain of immediates that
 * gives sockets turns, a timer of a device) would run for all users in the context of the one that happened to start it: the request of one
 * client would be seen in the callbacks of another. Two rules prevent that:
 *
 * - work that serves many users is started with `inRootContext`;
 * - a callback of a user is wrapped by `withContext` when the user registers it, and so runs in the user's context.
 */
import { AsyncResource } from 'node:async_hooks'

const root = new AsyncResource('VERBENA')

/** Runs `work` in the context in which the library was loaded: timers and promises that it makes stay there. */
export function inRootContext<T>(work: () => T): T {
  return root.runInAsyncScope(work)
}

/** `callback`, such that each call runs in the context that is the caller's now. */
export function withContext<A extends unknown[], R>(callback: (...args: A) => R): (...args: A) => R {
  const resource = new AsyncResource('VERBENA')
  return (...args) => resource.runInAsyncScope(callback, undefined, ...args)
}
