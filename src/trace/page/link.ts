/** Connection of the page to its worker: requests and their replies, and the worker's own messages. */
import type { FromPage, FromWorker, RequestName, Requests, Summary } from '../view/index.ts'

export interface Listener {
  progress(done: { doneBytes: number; totalBytes: number; packets: number }): void
  summary(summary: Summary, complete: boolean): void
  failed(reason: string): void
  filtering(done: { shown: number; looked: number }): void
}

export class Link {
  readonly #worker: Worker
  readonly #waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>()
  #next = 0

  /** @param code script of the worker */
  constructor(code: string, listener: Listener) {
    const url = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }))
    this.#worker = new Worker(url)
    this.#worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.#take(data, listener)
    this.#worker.onerror = ({ message }) => {
      const reason = `${message || 'the worker of this page does not start'}: reload the page`
      for (const { reject } of this.#waiting.values()) reject(new Error(reason))
      this.#waiting.clear()
      listener.failed(reason)
    }
  }

  open(file: Blob): void {
    this.#post({ open: file })
  }

  cancel(what: 'load' | 'filter'): void {
    this.#post({ cancel: what })
  }

  /** Sends a request; rejects with the worker's error. */
  ask<Name extends RequestName>(name: Name, input: Requests[Name][0]): Promise<Requests[Name][1]> {
    const id = ++this.#next
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (result: unknown) => void, reject })
      this.#post({ id, name, with: input })
    })
  }

  #post(message: FromPage<Blob>): void {
    this.#worker.postMessage(message)
  }

  #take(message: FromWorker, listener: Listener): void {
    if ('progress' in message) listener.progress(message.progress)
    else if ('summary' in message) listener.summary(message.summary, message.complete)
    else if ('failed' in message) listener.failed(message.failed)
    else if ('filtering' in message) listener.filtering(message.filtering)
    else {
      const waiting = this.#waiting.get(message.id)
      this.#waiting.delete(message.id)
      if ('error' in message) waiting?.reject(new Error(message.error))
      else waiting?.resolve(message.result)
    }
  }
}
