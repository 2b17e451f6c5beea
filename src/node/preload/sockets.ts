/**
 * `net.Socket.prototype` under the preload: each method that concerns the handle is Node's own unless this socket is attached to a link.
 *
 * An attached socket has a handle for users of it: Node's TLS and HTTP/2 read and write through that in C++. Node's HTTP/1 finds none,
 * and reads such a socket as any stream, which is faster.
 */
import net from 'node:net'
import { type Attachment, linkedMethods, type NodeAddress } from '../base/attachment.ts'
import { handleOf, isSecure, type StreamHandle, streamClasses, UndecidedHandle } from './handle.ts'
import { type Method, type NodeSocket, ownHandle, socketMethods, tlsSocketMethods } from './node-net.ts'
import { carrierOf, changesHandle } from './tls.ts'
import { attempts } from './undecided.ts'

type Callable = (...args: unknown[]) => unknown

/**
 * Returns the socket that this one is wrapped around. Under the preload it may have had no handle when it was wrapped, and then Node puts
 * a socket between that takes options and keeps them.
 */
function socketBelow(socket: NodeSocket): NodeSocket | undefined {
  const below = socket._parent ?? socket.stream ?? carrierOf(socket)
  return below instanceof net.Socket ? (below as unknown as NodeSocket) : undefined
}

function replace(methods: Record<string, Method>, name: string, wrap: (original: Callable) => Callable): void {
  const original = methods[name] as unknown as Callable
  const replacement = wrap(original)
  Object.defineProperty(replacement, 'name', { value: original.name })
  Object.defineProperty(methods, name, { value: replacement, writable: true, configurable: true, enumerable: true })
}

/** Calls `own` for attached sockets, the original for all others. */
function divert(name: string, own: Callable): void {
  replace(
    socketMethods,
    name,
    (original) =>
      function (this: NodeSocket, ...args: unknown[]) {
        return (this._verbena ? own : original).apply(this as never, args)
      } as Callable,
  )
}

/** Calls `own` first, then the original, which does the stream's part. */
function precede(name: string, own: Callable): void {
  replace(
    socketMethods,
    name,
    (original) =>
      function (this: NodeSocket, ...args: unknown[]) {
        if (this._verbena) own.call(this as never)
        return original.apply(this as never, args)
      } as Callable,
  )
}

/** Returns a handle in place of the real one while Node's `_destroy` closes it, which emits 'close' and counts. */
function lastHandle(attached: Attachment): object {
  const { bytesRead, bytesWritten } = attached.link
  const close = (done: () => void): number => {
    attached.link.run(() => setImmediate(done))
    return 0
  }
  return { bytesRead, bytesWritten, close, reset: close }
}

/** Returns the same for a socket that has nothing yet; Node's own have a handle from `connect` on. */
function neverOpened(): object {
  const close = (done: () => void): number => {
    setImmediate(done)
    return 0
  }
  return { bytesRead: 0, bytesWritten: 0, close, reset: close }
}

/** Accessors shared by all sockets: with functions of their own, V8 would make a hash table of each socket's properties. */
const figures: PropertyDescriptorMap & ThisType<NodeSocket> = {
  bytesRead: {
    get() {
      return this._verbena!.link.bytesRead
    },
    configurable: true,
  },
  _bytesDispatched: {
    get() {
      return this._verbena!.link.bytesWritten
    },
    configurable: true,
  },
  _handle: {
    get() {
      const attached = this._verbena!
      // With `parser` or `_httpMessage`, which is null between two requests, it is a connection of HTTP/1: its agent reads the handle for
      // each request. With `onread` the link reads into the program's memory.
      if (attached.link.closed || this.parser || '_httpMessage' in this || attached.bypassesStream)
        return ownHandle.get.call(this)
      return handleOf(this, attached)
    },
    set(handle) {
      ownHandle.set.call(this, handle)
    },
    configurable: true,
  },
  bufferSize: {
    get() {
      return this._verbena!.link.closed ? undefined : this.writableLength
    },
    configurable: true,
  },
}

/** Installs the accessors: Node counts in the handle; an attached socket counts in its link. */
export function showFigures(socket: NodeSocket): void {
  // Removes the handle of an undecided socket.
  ownHandle.set.call(socket, null)
  Object.defineProperties(socket, figures)
}

/** Makes the socket one of Node's own again. */
export function hideFigures(socket: NodeSocket): void {
  const own = socket as unknown as Record<string, unknown>
  delete own.bytesRead
  delete own._bytesDispatched
  delete own.bufferSize
  delete own._handle
}

export function patchSockets(): void {
  divert('_read', linkedMethods._read as Callable)
  divert('_writeGeneric', linkedMethods._writeGeneric as Callable)
  divert('_final', linkedMethods._final as Callable)
  patchReset()
  precede('pause', linkedMethods.pause as Callable)
  precede('resume', linkedMethods.resume as Callable)
  patchOptions()
  patchDestroy()
  patchReferences()
  patchAddresses()
  patchFigures()
  patchTlsSockets()
}

/** Patches `resetAndDestroy`: a socket that connects is reset once it is connected, over either transport. */
function patchReset(): void {
  replace(
    socketMethods,
    'resetAndDestroy',
    (original) =>
      function (this: NodeSocket) {
        if (attempts.has(this)) this.once('connect', () => this.resetAndDestroy())
        else if (this._verbena) linkedMethods.reset.call(this)
        else original.call(this as never)
        return this
      } as Callable,
  )
}

function patchOptions(): void {
  replace(
    socketMethods,
    'setNoDelay',
    (original) =>
      function (this: NodeSocket, enable: unknown) {
        socketBelow(this)?.setNoDelay(enable)
        return original.call(this as never, enable)
      } as Callable,
  )
  replace(
    socketMethods,
    'setKeepAlive',
    (original) =>
      function (this: NodeSocket, enable: unknown, delayMs: unknown) {
        const attached = this._verbena
        if (attached && !this.connecting && !attached.link.closed)
          attached.link.setKeepAlive(Boolean(enable), Math.trunc(Number(delayMs ?? 0) / 1000) || 0)
        socketBelow(this)?.setKeepAlive(enable, delayMs)
        return original.call(this as never, enable, delayMs)
      } as Callable,
  )
}

function patchDestroy(): void {
  replace(
    socketMethods,
    '_destroy',
    (original) =>
      function (this: NodeSocket, ...args: unknown[]) {
        const attached = this._verbena
        const attempt = attempts.get(this)
        attempt?.abandon()
        if (attached && (attempt || !attached.link.closed)) {
          this._handle = lastHandle(attached)
          attached.link.close(attached.resetting)
          attached.resetting = false
          attached.upstream?.closed()
        } else if (attempt) this._handle = neverOpened()
        return original.apply(this as never, args)
      } as Callable,
  )
}

/**
 * Patches `ref` and `unref` for attached and other sockets: that may change while the socket connects, so they are applied again
 * afterwards.
 */
function patchReferences(): void {
  for (const name of ['ref', 'unref'] as const)
    replace(
      socketMethods,
      name,
      (original) =>
        function (this: NodeSocket) {
          const attached = this._verbena
          attempts.get(this)?.[name]()
          if (!attached) {
            socketBelow(this)?.[name]()
            return original.call(this as never)
          }
          attached.link[name]()
          if (this.connecting) this.once('connect', this[name])
          return this
        } as Callable,
    )
}

function patchAddresses(): void {
  for (const [name, side] of [
    ['_getpeername', 'remote'],
    ['_getsockname', 'local'],
  ] as const)
    replace(
      socketMethods,
      name,
      (original) =>
        function (this: NodeSocket): NodeAddress {
          const attached = this._verbena
          if (attached) return side === 'local' && attached.link.closed ? {} : attached[side]
          const own = original.call(this as never) as NodeAddress
          // A socket around a stream has no address; the stream may be a socket that has one.
          return own.address === undefined ? (socketBelow(this)?.[name]() ?? own) : own
        } as Callable,
    )
}

function patchFigures(): void {
  const pending = Object.getOwnPropertyDescriptor(socketMethods, 'pending')
  if (pending?.configurable)
    Object.defineProperty(socketMethods, 'pending', {
      ...pending,
      get(this: NodeSocket): boolean {
        const attached = this._verbena
        if (attached) return this.connecting || attached.link.closed
        return pending.get!.call(this) as boolean
      },
    })
}

/**
 * Patches TLS sockets: one around a socket that has not got its handle yet gets a stream, as around any socket without a handle. Then it
 * waits for the 'connect' that is still to come; and the TLS socket has to answer the peer's end, after it has written its last data: so
 * the socket below, which is notified of the end first, must not answer it by itself.
 */
function patchTlsSockets(): void {
  replace(
    tlsSocketMethods,
    '_wrapHandle',
    (original) =>
      function (this: NodeSocket, wrap: unknown, handle: unknown, ...rest: unknown[]) {
        isSecure(handle as StreamHandle)
        if (!(handle instanceof UndecidedHandle) && !changesHandle(wrap))
          return original.call(this as never, wrap, handle, ...rest)
        const between = new (streamClasses().JSStreamSocket)(wrap)
        // The TLS socket receives errors from the socket below.
        between.on('error', () => {})
        return original.call(this as never, between, between._handle, ...rest)
      } as Callable,
  )
  replace(
    tlsSocketMethods,
    '_init',
    (original) =>
      function (this: NodeSocket, socket: NodeSocket | undefined, wrap: unknown) {
        const result = original.call(this as never, socket, wrap)
        if (socket?._verbena && !socket.connecting) this.connecting = false
        if (socket instanceof net.Socket && (wrap !== socket || socket.connecting)) socket.allowHalfOpen = true
        return result
      } as Callable,
  )
}
