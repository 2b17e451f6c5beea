/** Starting memory.process.ts, and its memory as `/proc/PID/mem` has it: another way than that of the device under test. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { startable } from '../entries.ts'

export class MemoryProcess {
  readonly child: ChildProcess
  readonly pid: number
  readonly length: number
  address = 0
  #mem = -1

  private constructor(length: number, child?: ChildProcess) {
    this.length = length
    if (child !== undefined) {
      this.child = child
      this.pid = child.pid!
      return
    }
    const { file, execArgv } = startable(new URL('./memory.process.ts', import.meta.url))
    this.child = fork(file, [String(length)], { execArgv })
    this.pid = this.child.pid!
    processes.push(this)
  }

  static async start(length: number): Promise<MemoryProcess> {
    return await new MemoryProcess(length).#begun()
  }

  /** More memory of the same process. */
  async another(length: number): Promise<MemoryProcess> {
    this.child.send({ map: length })
    return await new MemoryProcess(length, this.child).#begun()
  }

  async #begun(): Promise<this> {
    const [{ address }] = (await once(this.child, 'message')) as [{ address: number }]
    this.address = address
    this.#mem = openSync(`/proc/${this.pid}/mem`, 'r+')
    return this
  }

  get range(): { pid: number; address: number; length: number } {
    return { pid: this.pid, address: this.address, length: this.length }
  }

  peek(offset: number, length: number): Uint8Array {
    const bytes = new Uint8Array(length)
    if (readSync(this.#mem, bytes, 0, length, this.address + offset) !== length) throw new Error('not all was read')
    return bytes
  }

  poke(offset: number, bytes: Uint8Array): void {
    if (writeSync(this.#mem, bytes, 0, bytes.length, this.address + offset) !== bytes.length)
      throw new Error('not all was written')
  }

  async unmap(offset: number, length: number): Promise<void> {
    await this.#order({ unmap: this.address + offset, length })
  }

  /** It may only be read from now on. */
  async protect(offset: number, length: number): Promise<void> {
    await this.#order({ protect: this.address + offset, length })
  }

  async #order(order: object): Promise<void> {
    this.child.send(order)
    const [{ failed }] = (await once(this.child, 'message')) as [{ failed: number }]
    if (failed !== 0) throw new Error(`${JSON.stringify(order)} failed`)
  }

  /** Closes what is open here; the process goes on. */
  forget(): void {
    if (this.#mem >= 0) closeSync(this.#mem)
    this.#mem = -1
  }

  async end(): Promise<void> {
    this.forget()
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    this.child.kill('SIGKILL')
    await once(this.child, 'exit')
  }
}

const processes: MemoryProcess[] = []
export async function endMemoryProcesses(): Promise<void> {
  for (const one of processes.splice(0)) await one.end()
}
