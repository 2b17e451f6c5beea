/** What pages are sent, as JSON: what several of them want is made once. */
import { MonitorError } from '../index.ts'
import { type Asked, answerQuestion, type LiveView } from '../view/index.ts'

/** Characters of all answers that are kept. */
const mostKept = 2 ** 22

export class Texts {
  readonly #live: LiveView
  /** By what a page has already, until something is new. */
  readonly #updates = new Map<string, string>()
  /** By the question, those that were asked last at the end. */
  readonly #answers = new Map<string, string>()
  #kept = 0

  constructor(live: LiveView) {
    this.#live = live
  }

  /** The number of the newest window. */
  get newest(): number {
    return this.#live.number
  }

  hello(): string {
    return JSON.stringify(this.#live.hello())
  }

  /** There is something new. */
  renew(): void {
    this.#updates.clear()
  }

  update(since: number, skipped: number): string {
    const name = `${since} ${skipped}`
    const text = this.#updates.get(name) ?? JSON.stringify(this.#live.update(since, skipped))
    this.#updates.set(name, text)
    return text
  }

  answer(asked: Asked): string {
    const { id } = asked
    if ('reason' in asked) return JSON.stringify({ kind: 'refused', id, reason: asked.reason })
    try {
      return `{"kind":"answer","id":${id},"answer":${this.#answerTo(asked.question)}}`
    } catch (error) {
      if (error instanceof MonitorError) return JSON.stringify({ kind: 'refused', id, reason: error.message })
      throw error
    }
  }

  #answerTo(question: Extract<Asked, { question: unknown }>['question']): string {
    const name = JSON.stringify(question)
    const known = this.#live.kept(question.window) && this.#answers.get(name)
    const text = known ?? JSON.stringify(answerQuestion(this.#live, question))
    if (known !== undefined) this.#answers.delete(name)
    else this.#kept += text.length
    this.#answers.set(name, text)
    for (const [old, { length }] of this.#answers) {
      if (this.#kept <= mostKept) break
      this.#answers.delete(old)
      this.#kept -= length
    }
    return text
  }
}
