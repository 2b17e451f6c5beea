/**
 * The verbs of an unmodified program (programs/verbs-driver.c) for the harness of random programs: the objects that it uses of a device,
 * whose calls the program executes one by one. What both have is the memory of the ends, in a file that each maps.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { type Opcode, type QpCap, QpState, type QpType, VerbsError, type WorkCompletion } from '../../src/index.ts'
import { sleepMs, unmap } from '../../src/memory/index.ts'
import { mapShared, unlinkShared } from '../../src/memory/native/index.ts'
import type { Setup } from '../compliance/rig.ts'
import { verbena } from './run-kit.ts'

/** Of an end's memory, pages. */
const endBytes = 512 << 10
const patienceMs = 20_000
const errnoNames: Readonly<Record<string, 'EINVAL' | 'ENOMEM'>> = { 12: 'ENOMEM', 22: 'EINVAL' }

export class VerbsDriver {
  readonly #folder = mkdtempSync(join(tmpdir(), 'verbena-driver-'))
  readonly #name = `verbena-driver-${randomBytes(6).toString('hex')}`
  readonly #buffer: ArrayBuffer
  readonly #child: ChildProcess
  readonly #orders: number
  readonly #answers: number
  readonly #chunk = Buffer.alloc(65_536)
  #text = ''

  /** Compiles the program, and starts it below `verbena run` with this adapter. */
  constructor(device: string) {
    const program = join(this.#folder, 'verbs-driver')
    const source = new URL('programs/verbs-driver.c', import.meta.url).pathname
    execFileSync('gcc', ['-O1', '-Wall', '-Werror', '-o', program, source, '-libverbs'])
    this.#buffer = mapShared(this.#name, 2 * endBytes, 'create').buffer
    const fifos = ['orders', 'answers'].map((name) => join(this.#folder, name))
    execFileSync('mkfifo', fifos)
    // Nobody waits for the other end to be opened then.
    this.#orders = openSync(fifos[0]!, constants.O_RDWR)
    this.#answers = openSync(fifos[1]!, constants.O_RDWR | constants.O_NONBLOCK)
    const stdout = openSync(fifos[1]!, 'w')
    const args = ['run', '--device', device, '--', program, `/dev/shm/${this.#name}`, String(endBytes)]
    this.#child = spawn(process.execPath, [verbena, ...args], { stdio: [this.#orders, stdout, 'inherit'] })
    closeSync(stdout)
  }

  /** The memory of an end. */
  memory(side: number): Uint8Array {
    return new Uint8Array(this.#buffer, side * endBytes, endBytes)
  }

  /** Has a command executed; the numbers of its answer. */
  ask(...command: (string | number | bigint)[]): string[] {
    writeSync(this.#orders, `${command.join(' ')}\n`)
    const deadline = performance.now() + patienceMs
    for (;;) {
      const end = this.#text.indexOf('\n')
      if (end >= 0) {
        const line = this.#text.slice(0, end)
        this.#text = this.#text.slice(end + 1)
        if (line.startsWith('failed')) throw new Error(`the program: ${line}`)
        return line.split(' ')
      }
      if (performance.now() > deadline) throw new Error(`no answer to ${command.join(' ')}`)
      this.#read()
    }
  }

  #read(): void {
    try {
      const n = readSync(this.#answers, this.#chunk)
      this.#text += this.#chunk.toString('latin1', 0, n)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
      sleepMs(0.02)
    }
  }

  async close(): Promise<void> {
    this.#child.kill('SIGTERM')
    if (this.#child.exitCode === null && this.#child.signalCode === null)
      await new Promise((resolve) => this.#child.once('exit', resolve))
    for (const fd of [this.#orders, this.#answers]) closeSync(fd)
    unmap(this.#buffer)
    unlinkShared(this.#name)
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

interface SgeNumbers {
  addr: number
  length: number
  lkey: number
}

interface Request {
  wrId: number
  opcode: Opcode
  sendFlags: number
  immData?: number
  remoteAddr?: number
  rkey?: number
  compareAdd?: bigint
  swap?: bigint
  sgList: SgeNumbers[]
  next?: Request
}

interface EndInit {
  cap: QpCap
  cqe: number
  bytes: number
  sqSigAll: boolean
  cq?: object
  srq?: object
}

const listed = <T extends { next?: T }>(first: T): T[] => (first.next ? [first, ...listed(first.next)] : [first])
const elements = (list: SgeNumbers[]): number[] => [
  list.length,
  ...list.flatMap(({ addr, length, lkey }) => [addr, length, lkey >>> 0]),
]
/** What the rings of the provider take: one less than a power of two. */
const ringRoom = (wanted: number): number => 2 ** (32 - Math.clz32(wanted)) - 1

/** What the harness needs of a `Setup`, for one random program. */
export function drivenSetup(driver: VerbsDriver): Setup {
  driver.memory(0).fill(0)
  driver.memory(1).fill(0)
  const post = (
    verb: string,
    command: string,
    side: number,
    first: object,
    fields: (one: never) => unknown[],
  ): void => {
    const list = listed(first as Request)
    const [error, badWrId] = driver.ask(command, side, list.length, ...(list.flatMap(fields as never) as string[]))
    if (error === '0') return
    const thrown = new VerbsError(errnoNames[error!] ?? 'ENXIO', verb, `errno ${error}`)
    thrown.badWr = list.find(({ wrId }) => wrId === Number(badWrId))!
    throw thrown
  }
  const postRecv = (side: number, first: object): void =>
    post('postRecv', 'recv', side, first, ({ wrId, sgList }: Request) => [wrId, ...elements(sgList)])
  const postSend = (side: number, first: object): void =>
    post('postSend', 'send', side, first, (wr: Request) => [
      ...[wr.wrId, wr.opcode, wr.sendFlags, wr.immData ?? 0, wr.remoteAddr ?? 0, (wr.rkey ?? 0) >>> 0],
      ...[wr.compareAdd ?? 0n, wr.swap ?? 0n, ...elements(wr.sgList)],
    ])
  const poll = (side: number, receives: number, wc: WorkCompletion[], most = wc.length): number => {
    const [count, ...numbers] = driver.ask('poll', side, receives, most).map(Number)
    for (let i = 0; i < count!; i++) {
      const [wrId, status, opcode, byteLen, immData, qpNum, srcQp, wcFlags] = numbers.slice(8 * i)
      Object.assign(wc[i]!, { wrId, status, opcode, byteLen, immData, qpNum, srcQp, wcFlags })
    }
    return count!
  }
  const context = (side: number) => ({
    createCq: () => ({}),
    allocPd: () => ({
      createSrq: ({ maxWr }: { maxWr: number }) => ({
        query: () => ({ maxWr: ringRoom(maxWr) }),
        postRecv: (first: object) => postRecv(side, first),
      }),
      regMr(part: Uint8Array, access: number) {
        const offset = part.byteOffset - driver.memory(side).byteOffset
        const [addr, lkey, rkey] = driver.ask('reg', side, offset, part.length, access & 0xf).map(Number)
        return { addr, lkey, rkey }
      },
    }),
  })
  const end = (side: number, type: QpType, { cap, cqe, bytes, sqSigAll, cq, srq }: EndInit) => {
    const sizes = [cap.maxSendWr, cap.maxRecvWr, cap.maxSendSge, cap.maxRecvSge, cap.maxInlineData, cqe]
    const opened = driver.ask(
      'open',
      side,
      type,
      Number(srq !== undefined),
      Number(cq !== undefined),
      +sqSigAll,
      ...sizes,
    )
    const [qpNum, maxInlineData, maxSendSge] = opened.map(Number)
    return {
      buffer: driver.memory(side).subarray(0, bytes),
      request: (opcode: number, _peer: object, fields: object) => ({ opcode, ...fields }),
      datagram: () => ({}),
      sendCq: { poll: (wc: WorkCompletion[], most?: number) => poll(side, 0, wc, most) },
      recvCq: { poll: (wc: WorkCompletion[], most?: number) => poll(side, 1, wc, most) },
      qp: {
        qpNum,
        cap: { maxSendWr: ringRoom(cap.maxSendWr), maxRecvWr: ringRoom(cap.maxRecvWr), maxInlineData, maxSendSge },
        get state() {
          return Number(driver.ask('state', side)[0])
        },
        modify: ({ state }: { state: QpState }) => driver.ask(state === QpState.Err ? 'error' : 'reset', side),
        postSend: (first: object) => postSend(side, first),
        postRecv: (first: object) => postRecv(side, first),
      },
    }
  }
  const until = async (what: string, ready: () => unknown): Promise<void> => {
    for (const deadline = performance.now() + patienceMs; !ready(); await setImmediate())
      if (performance.now() > deadline) throw new Error(`no ${what} within ${patienceMs} ms`)
  }
  return {
    ...{ context, end, until, own: <T>(object: T): T => object, turn: async () => await setImmediate() },
    connect: (_a: object, _b: object, { pathMtu, timeout, retryCnt, rnrRetry, minRnrTimer }: Record<string, number>) =>
      driver.ask('connect', Math.log2(pathMtu! / 128), timeout!, retryCnt!, rnrRetry!, minRnrTimer!),
  } as unknown as Setup
}
