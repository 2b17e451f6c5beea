/** Options whose value is given by `=` alone, so that a program behind one is not taken for it: `--trace program`, `--trace=FILE program`. */
import type { Command } from 'commander'

/** Lets `command` take `option` so; without a value it is the empty text. It has `[value]` in its flags. */
export function takeValueByEquals(command: Command, option: string): void {
  const parse = command.parseOptions.bind(command)
  command.parseOptions = (words) => parse(withValue(command, option, words))
}

function withValue(command: Command, option: string, words: readonly string[]): string[] {
  const changed = [...words]
  for (let i = 0; i < changed.length; i++) {
    const word = changed[i]!
    // What is behind the first operand is the program's.
    if (word === '--' || !word.startsWith('-')) break
    if (word === option) changed[i] = `${option}=`
    else if (command.options.some((known) => known.required && (known.long === word || known.short === word))) i++
  }
  return changed
}
