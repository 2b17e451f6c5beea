/**
 * An assembler for filters of system calls: instructions of classic BPF with labels for jumps. A filter sees struct seccomp_data:
 *
 *     0  number of the call    4  architecture    8  instruction pointer    16  six arguments of 64 bits, of which it loads 32 at a time
 */
import type { BpfInstruction } from '../../memory/index.ts'

const LD_W_ABS = 0x20
const JMP_JA = 0x05
const JMP_JEQ_K = 0x15
const JMP_JGE_K = 0x35
const JMP_JSET_K = 0x45
const RET_K = 0x06

export const Data = { number: 0, architecture: 4 } as const
/** Returns the offset of the low half of an argument. */
export const argumentOffset = (index: number): number => 16 + 8 * index

/** Verdicts on a call: SECCOMP_RET_…. */
export const Verdict = { allow: 0x7fff0000, notify: 0x7fc00000, fail: (errno: number): number => 0x00050000 | errno }

/** Maximum distance of a conditional jump, in instructions. */
const reach = 255

type Statement =
  | { readonly kind: 'plain'; readonly code: number; readonly k: number }
  | { readonly kind: 'label'; readonly name: string }
  | {
      readonly kind: 'jump'
      readonly code: number
      readonly k: number
      readonly to: string
      readonly otherwise: string
    }

export class Assembler {
  readonly #statements: Statement[] = []
  #labels = 0

  /** Returns a label that is not used yet. */
  newLabel(): string {
    return `L${this.#labels++}`
  }

  label(name: string): void {
    this.#statements.push({ kind: 'label', name })
  }

  load(offset: number): void {
    this.#statements.push({ kind: 'plain', code: LD_W_ABS, k: offset })
  }

  return(verdict: number): void {
    this.#statements.push({ kind: 'plain', code: RET_K, k: verdict >>> 0 })
  }

  /** Jumps to `to` if the loaded word is `k`; otherwise to `otherwise`, or to the next instruction. */
  ifEqual(k: number, to: string, otherwise = ''): void {
    this.#jump(JMP_JEQ_K, k, to, otherwise)
  }

  /** Jumps likewise if the word is `k` or more, unsigned. */
  ifAtLeast(k: number, to: string, otherwise = ''): void {
    this.#jump(JMP_JGE_K, k, to, otherwise)
  }

  /** Jumps likewise if the word has one of the bits of `k`. */
  ifAnyBit(k: number, to: string, otherwise = ''): void {
    this.#jump(JMP_JSET_K, k, to, otherwise)
  }

  goto(to: string): void {
    this.#jump(JMP_JA, 0, to, '')
  }

  #jump(code: number, k: number, to: string, otherwise: string): void {
    this.#statements.push({ kind: 'jump', code, k: k >>> 0, to, otherwise })
  }

  /** Returns the program. Jumps only go forward; a label that is missing, before its jump or too far away is an error of the caller. */
  assemble(): BpfInstruction[] {
    const places = new Map<string, number>()
    let count = 0
    for (const statement of this.#statements)
      if (statement.kind === 'label') places.set(statement.name, count)
      else count++
    const program: BpfInstruction[] = []
    const distance = (name: string): number => {
      if (name === '') return 0
      const place = places.get(name)
      const far = place === undefined ? -1 : place - program.length - 1
      if (far < 0) throw new RangeError(`the label ${name} is not ahead of instruction ${program.length}`)
      return far
    }
    for (const statement of this.#statements) {
      if (statement.kind === 'label') continue
      const { code, k } = statement
      if (statement.kind === 'plain') program.push({ code, jt: 0, jf: 0, k })
      else if (code === JMP_JA) program.push({ code, jt: 0, jf: 0, k: distance(statement.to) })
      else {
        const jt = distance(statement.to)
        const jf = distance(statement.otherwise)
        if (jt > reach || jf > reach) throw new RangeError(`instruction ${program.length} jumps too far`)
        program.push({ code, jt, jf, k })
      }
    }
    return program
  }
}
