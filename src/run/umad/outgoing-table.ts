/**
 * MADs that wait for a response or for ACKs, found by their transaction: a program that fills the table makes no other program's turn
 * longer.
 */
import { type Outgoing, transactionOf } from './outgoing.ts'

const none: readonly Outgoing[] = []

export class OutgoingTable {
  readonly #all = new Set<Outgoing>()
  readonly #byTransaction = new Map<string, Outgoing[]>()

  get size(): number {
    return this.#all.size
  }

  /** Iterates in the order in which they were sent; those that are deleted meanwhile are left out. */
  [Symbol.iterator](): IterableIterator<Outgoing> {
    return this.#all.values()
  }

  /** Returns the MADs with the transaction and class of a MAD. The upper half of a request's transaction is its agent's. */
  alike(mad: Uint8Array): readonly Outgoing[] {
    return this.#byTransaction.get(transactionOf(mad)) ?? none
  }

  add(sent: Outgoing): void {
    this.#all.add(sent)
    const alike = this.#byTransaction.get(sent.transaction)
    if (alike === undefined) this.#byTransaction.set(sent.transaction, [sent])
    else alike.push(sent)
  }

  delete(sent: Outgoing): void {
    if (!this.#all.delete(sent)) return
    const alike = this.#byTransaction.get(sent.transaction)!
    if (alike.length === 1) this.#byTransaction.delete(sent.transaction)
    else alike.splice(alike.indexOf(sent), 1)
  }
}
