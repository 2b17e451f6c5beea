/**
 * `rcopy`: copies a file over an rsocket (`rcopy-message.ts` has the messages). The server serves one client after the
 * other, until it is interrupted. Output is that of rdma-core's program.
 */
import {
  closeSync,
  constants as files,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
  writeSync,
} from 'node:fs'
import { constants } from 'node:os'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { MSG_DONTWAIT, POLLIN } from '../../rsocket/index.ts'
import { EndError, UsageError } from '../kit/index.ts'
import {
  type CommonResult,
  type CommonSettings,
  failureOf,
  finish,
  isEagain,
  type Run,
  recvAll,
  Session,
  type Show,
  type SocketSettings,
  sendAll,
  type ToolSocket,
  Waiter,
} from '../rs-kit/index.ts'
import {
  Command,
  closeMessage,
  emitHeader,
  type Header,
  headerBytes,
  maxPathBytes,
  openMessage,
  parseHeader,
  reply,
  writeMessage,
} from './message.ts'

export const rcopyPort = 7427

export interface RcopySettings extends CommonSettings {
  /** File of the client; undefined: this is the server. */
  file?: string | undefined
  server?: string | undefined
  /** Path at the server; default: the name of the file as the client has it. */
  destination?: string | undefined
  port: number
  /** Directory below which the server writes; undefined: any path that the client names. */
  directory?: string | undefined
}

export interface RcopyResult extends CommonResult {
  tool: 'rcopy'
  /** Files that a server has received. */
  files: { path: string; bytes: number }[]
  /** Seconds at the client, from the first byte to the server's answer. */
  seconds?: number
  gbitPerSec?: number
}

const { EINVAL, EBUSY, EACCES, EIO } = constants.errno
const chunkBytes = 1 << 20
const transfer = { flags: MSG_DONTWAIT, async: false }
const options: SocketSettings = { bufferBytes: 1 << 19, blocking: false }

export async function runRcopy(settings: RcopySettings, { stop, show }: Run): Promise<RcopyResult> {
  const role = settings.server === undefined ? 'server' : 'client'
  const result: RcopyResult = { tool: 'rcopy', role, files: [] }
  const waiter = new Waiter(stop, settings.stallMs)
  const session = new Session({ ...settings, kernel: false, async: false, blocking: false }, waiter)
  try {
    if (role === 'client') await copy(settings, session, waiter, show, result)
    else await serve(settings, session, waiter, show, result)
  } catch (error) {
    result.failure = failureOf(error)
  } finally {
    session.close()
  }
  return result
}

// --- the client ------------------------------------------------------------------------------------------------------

async function copy(
  { file, destination }: RcopySettings,
  session: Session,
  waiter: Waiter,
  show: Show,
  result: RcopyResult,
): Promise<void> {
  const path = file!
  const fd = openSource(path)
  try {
    const { size, mode } = fstatSync(fd)
    const to = destination ?? path
    if (Buffer.byteLength(to) >= maxPathBytes) throw new UsageError('destination', 'the path is too long')
    await session.open(options)
    const socket = session.next(options)
    try {
      const ask = (message: Uint8Array, command: number): void => {
        sendAll(waiter, socket, message, transfer)
        expectReply(waiter, socket, command)
      }
      show({ part: 'opening...' })
      ask(openMessage(to, mode), Command.Open)
      show({ part: 'transferring' })
      sendAll(waiter, socket, writeMessage(size), transfer)
      show({ part: '...' })
      const start = performance.now()
      sendFile(waiter, socket, fd, size)
      expectReply(waiter, socket, Command.Write)
      const ms = performance.now() - start
      show({ part: 'closing...' })
      ask(closeMessage(), Command.Close)
      show({ line: 'done' })
      result.files.push({ path: to, bytes: size })
      result.seconds = ms / 1000
      result.gbitPerSec = (size * 8) / (ms * 1e6)
      show({ line: `${size} bytes in ${result.seconds.toFixed(2)} seconds = ${result.gbitPerSec.toFixed(2)} Gb/sec` })
    } catch (error) {
      show({ line: '' })
      throw error
    } finally {
      finish(socket)
    }
  } finally {
    closeSync(fd)
  }
}

function openSource(path: string): number {
  try {
    if (!statSync(path).isFile()) throw new UsageError(path, 'is no file')
    return openSync(path, 'r')
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(path, (error as Error).message)
  }
}

function sendFile(waiter: Waiter, socket: ToolSocket, fd: number, size: number): void {
  const buffer = new Uint8Array(Math.min(chunkBytes, Math.max(1, size)))
  for (let at = 0; at < size; ) {
    const n = readSync(fd, buffer, 0, Math.min(buffer.length, size - at), at)
    if (n === 0) throw new EndError('FILE', `the file became shorter while it was sent: ${at} of ${size} bytes`)
    try {
      sendAll(waiter, socket, buffer.subarray(0, n), transfer)
    } catch (error) {
      // A server that cannot store the data replies with an error before it closes the connection.
      expectReply(waiter, socket, Command.Write)
      throw error
    }
    at += n
  }
}

function expectReply(waiter: Waiter, socket: ToolSocket, command: number): void {
  const bytes = new Uint8Array(headerBytes)
  recvAll(waiter, socket, bytes, transfer)
  const header = parseHeader(bytes)
  if (typeof header === 'string') throw new EndError('PEER_TEXT', `the server's answer: ${header}`)
  if (header.length !== headerBytes || header.command !== (command | reply))
    throw new EndError(
      'PEER_TEXT',
      `invalid length ${header.length} or bad command response ${header.command.toString(16)}:${(command | reply).toString(16)}`,
    )
  if (header.data !== 0) throw new EndError('PEER_FAILED', `the server could not do it: ${errnoText(header.data)}`)
}

function errnoText(number: number): string {
  const name = Object.entries(constants.errno).find(([, value]) => value === number)?.[0]
  return name === undefined ? `error ${number}` : `${name} (error ${number})`
}

// --- the server ------------------------------------------------------------------------------------------------------

async function serve(
  settings: RcopySettings,
  session: Session,
  waiter: Waiter,
  show: Show,
  result: RcopyResult,
): Promise<void> {
  await session.open(options)
  for (;;) {
    show({ part: 'waiting for connection...' })
    const socket = session.next(options)
    show({ line: `client: ${socket.peer()}` })
    const server = new Server(settings, waiter, socket, show, result)
    try {
      while (server.next());
    } catch (error) {
      if (!(error instanceof EndError) || error.code === 'INTERRUPTED') throw error
      show({ line: '' })
      show({ error: `rcopy: ${error.message}` })
    } finally {
      server.release()
      finish(socket)
    }
  }
}

/** Error for a client's request that fails, with the error number that the client gets. */
class Refused extends Error {
  readonly errno: number
  constructor(errno: number, message: string) {
    super(message)
    this.errno = errno
  }
}

class Server {
  readonly #directory: string | undefined
  readonly #waiter: Waiter
  readonly #socket: ToolSocket
  readonly #show: Show
  readonly #result: RcopyResult
  readonly #header: Uint8Array = new Uint8Array(headerBytes)
  #fd = -1
  #path = ''

  constructor(settings: RcopySettings, waiter: Waiter, socket: ToolSocket, show: Show, result: RcopyResult) {
    this.#directory = settings.directory
    this.#waiter = waiter
    this.#socket = socket
    this.#show = show
    this.#result = result
  }

  /** Serves one request; returns false when there will be no more. */
  next(): boolean {
    if (!this.#begins()) return false
    recvAll(this.#waiter, this.#socket, this.#header.subarray(1), transfer)
    const header = parseHeader(this.#header)
    if (typeof header === 'string') throw new EndError('PEER_TEXT', `${header}: is the client another program?`)
    try {
      switch (header.command) {
        case Command.Open:
          this.#open(header)
          break
        case Command.Write:
          this.#write(header)
          break
        case Command.Close:
          this.#show({ part: 'closing...' })
          this.release()
          this.#answer(header, 0)
          this.#show({ line: 'done' })
          return true
        default:
          throw new Refused(EINVAL, `there is no command ${header.command}`)
      }
    } catch (error) {
      const { errno, code } = error as { errno?: unknown; code?: unknown }
      // Errors of files are reported to the client as well; for any other error there is no answer.
      if (!(error instanceof Refused) && (typeof errno !== 'number' || typeof code !== 'string')) throw error
      this.#show({ line: `...${(error as Error).message}` })
      this.#answer(header, Math.abs(errno as number) || EIO)
      return false
    }
    this.#answer(header, 0)
    return true
  }

  /** Receives the first byte of a request; returns false if the client has closed the connection instead. */
  #begins(): boolean {
    for (;;) {
      const n = this.#socket.recv(this.#header.subarray(0, 1), MSG_DONTWAIT)
      if (n > 0) return true
      if (!isEagain(n)) return false
      this.#waiter.idle(this.#socket, POLLIN, 'a request')
    }
  }

  #answer({ command, id }: Header, status: number): void {
    const bytes = new Uint8Array(headerBytes)
    emitHeader({ command: command | reply, length: headerBytes, data: status, id }, bytes)
    sendAll(this.#waiter, this.#socket, bytes, transfer)
  }

  #open({ length, data }: Header): void {
    this.#show({ part: 'opening: ' })
    if (this.#fd >= 0) throw new Refused(EBUSY, 'cannot open another file')
    const rest = length - headerBytes
    if (rest === 0 || rest > maxPathBytes) throw new Refused(EINVAL, `a path of ${rest} bytes`)
    const bytes = new Uint8Array(rest)
    recvAll(this.#waiter, this.#socket, bytes, transfer)
    const end = bytes.indexOf(0)
    const asked = Buffer.from(end < 0 ? bytes : bytes.subarray(0, end)).toString()
    this.#show({ part: `${asked}, ` })
    if (asked === '') throw new Refused(EINVAL, 'an empty path')
    this.#path = this.#allowed(asked)
    const { O_CREAT, O_NOFOLLOW, O_RDWR, O_TRUNC } = files
    const onlyInside = this.#directory === undefined ? 0 : O_NOFOLLOW
    this.#fd = openSync(this.#path, O_RDWR | O_CREAT | O_TRUNC | onlyInside, data & 0o777)
  }

  /** Returns the path to write. With a directory no symbolic link leads out of it, the last part of the path included. */
  #allowed(asked: string): string {
    const directory = this.#directory
    if (directory === undefined) return asked
    const root = realpathSync(directory)
    const path = resolve(root, isAbsolute(asked) ? basename(asked) : asked)
    const real = realPath(path) ?? join(realpathSync(dirname(path)), basename(path))
    const inside = relative(root, real)
    if (inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside))
      throw new Refused(EACCES, `${asked} lies outside ${directory}`)
    return real
  }

  #write({ length }: Header): void {
    this.#show({ part: 'transferring' })
    if (this.#fd < 0) throw new Refused(EINVAL, 'file not opened')
    if (length !== headerBytes + 8) throw new Refused(EINVAL, `invalid message length ${length}`)
    const sizeBytes = new Uint8Array(8)
    recvAll(this.#waiter, this.#socket, sizeBytes, transfer)
    const size = Number(new DataView(sizeBytes.buffer).getBigUint64(0, true))
    if (size > Number.MAX_SAFE_INTEGER) throw new Refused(EINVAL, `a file of ${size} bytes`)
    ftruncateSync(this.#fd, 0)
    this.#show({ part: `...${size} bytes...` })
    const buffer = new Uint8Array(Math.min(chunkBytes, Math.max(1, size)))
    for (let at = 0; at < size; ) {
      const n = this.#some(buffer.subarray(0, Math.min(buffer.length, size - at)))
      for (let done = 0; done < n; ) done += writeSync(this.#fd, buffer, done, n - done, at + done)
      at += n
    }
    this.#result.files.push({ path: this.#path, bytes: size })
  }

  /** Receives the bytes that have arrived, at least one. */
  #some(bytes: Uint8Array): number {
    for (;;) {
      const n = this.#socket.recv(bytes, MSG_DONTWAIT)
      if (n > 0) {
        this.#waiter.progress()
        return n
      }
      if (!isEagain(n)) throw new EndError('PEER_GONE', 'error receiving data: the client ended the connection')
      this.#waiter.idle(this.#socket, POLLIN, 'data')
    }
  }

  /** Closes the file. */
  release(): void {
    if (this.#fd >= 0) closeSync(this.#fd)
    this.#fd = -1
  }
}

/** Returns the path without symbolic links; undefined if there is no such file. */
function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
