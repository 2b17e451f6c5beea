/** Messages for pages, as JSON: a message for several pages is made once. */
import { MonitorError } from '../index.ts'
import { type Asked, answerQuestion, type LiveView } from '../view/index.ts'

/** Maximum number of characters of all answers that are kept. */
const mostKept = 2 ** 22

export class Texts {
  readonly #live: LiveView
  /** Updates by the window that a page has already and its skipped updates, valid until there is a new window. */
  readonly #updates = new Map<string, string>()
  /** Answers by question, the most recently requested ones at the end. */
  readonly #answers = new Map<string, string>()
  #kept = 0

  constructor(live: LiveView) {
    this.#live = live
  }

  /** Returns the number of the newest window. */
  get newest(): number {
    return this.#live.number
  }

  hello(): string {
    return JSON.stringify(this.#live.hello())
  }

  /** Discards the updates, because there is something new. */
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
