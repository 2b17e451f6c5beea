/** Connections of rstream and riostream, one after the other: made by the client, accepted by the server. */
import { isOwnAddress } from '../../memory/index.ts'
import { POLLIN } from '../../rsocket/index.ts'
import { EndError, pinApart } from '../kit/index.ts'
import type { CommonSettings } from './settings.ts'
import {
  connectEvents,
  connectTo,
  errorText,
  isEagain,
  isNobody,
  isRefused,
  listenOn,
  resolveHost,
  type SocketSettings,
  type ToolSocket,
} from './tool-socket.ts'
import type { Waiter } from './waiter.ts'

export interface SessionSettings extends CommonSettings {
  /** Address of the server; undefined: this is the server. */
  server?: string | undefined
  bind?: string | undefined
  port: number
  /** True to use sockets of the kernel instead of rsockets. */
  kernel: boolean
  /** True to call `poll` before every call. */
  async: boolean
  blocking: boolean
}

const pauseMs = 50

function connectText({ address, port }: { address: string; port: number }, result: number, reason: string): string {
  if (isRefused(result))
    return `nobody listens on ${address} port ${port}: start the server there first, or give --wait`
  return `${address} port ${port}: ${reason}`
}

export class Session {
  readonly #settings: SessionSettings
  readonly #waiter: Waiter
  #address = ''
  #source: string | undefined
  #listener: ToolSocket | undefined

  constructor(settings: SessionSettings, waiter: Waiter) {
    this.#settings = settings
    this.#waiter = waiter
  }

  /** Resolves the addresses; a server begins to listen. */
  async open(options: SocketSettings): Promise<void> {
    const { server, bind, port } = this.#settings
    if (server === undefined) {
      this.#listener = listenOn(this.#settings, await resolveHost(bind), port, options)
    } else {
      this.#address = await resolveHost(server)
      this.#source = bind === undefined ? undefined : await resolveHost(bind)
    }
  }

  /** Returns the next connection. */
  next(options: SocketSettings): ToolSocket {
    const { server } = this.#settings
    const socket = this.#listener === undefined ? this.#connect(options) : this.#accept(this.#listener, options)
    if (isOwnAddress(socket.peer())) pinApart(server === undefined ? 'server' : 'client')
    return socket
  }

  #accept(listener: ToolSocket, options: SocketSettings): ToolSocket {
    listener.setOptions(options)
    for (;;) {
      // The wait is done here, also for blocking sockets, so that it can be interrupted.
      this.#waiter.ready(listener, POLLIN, 'a client', true)
      const socket = listener.accept()
      if (typeof socket !== 'number') {
        socket.setOptions(options)
        return socket
      }
      if (!isEagain(socket)) throw new EndError('SOCKET', `accept: ${listener.reason() || errorText(socket)}`)
    }
  }

  #connect(options: SocketSettings): ToolSocket {
    const { port, waitMs } = this.#settings
    const until = performance.now() + waitMs
    const destination = { address: this.#address, port }
    for (;;) {
      const made = connectTo(this.#settings, destination, this.#source, options, (socket) => {
        this.#waiter.ready(socket, connectEvents, 'the connection')
      })
      if ('send' in made) return made
      const { result, reason } = made
      if (!isNobody(result) || performance.now() >= until)
        throw new EndError('CONNECT', connectText(destination, result, reason))
      this.#waiter.pause(pauseMs)
    }
  }

  close(): void {
    this.#listener?.close()
  }
}

/** Returns the options of a connection; its purpose determines whether small sends are inline. */
export function streamOptions(
  settings: SessionSettings & { bufferBytes: number; inlineBytes: number; keepAliveSeconds?: number | undefined },
  purpose: 'latency' | 'bandwidth' | 'mixed',
): SocketSettings {
  const { bufferBytes, inlineBytes, keepAliveSeconds, blocking } = settings
  return {
    bufferBytes: bufferBytes === 0 ? 1 << 19 : bufferBytes,
    inlineBytes: purpose === 'latency' ? inlineBytes : purpose === 'bandwidth' ? 0 : undefined,
    keepAliveSeconds,
    blocking,
  }
}

/** Shuts the connection down and waits for the peer's shutdown, so that outstanding data arrives. */
export function finish(socket: ToolSocket): void {
  socket.shutdown()
  socket.close()
}
