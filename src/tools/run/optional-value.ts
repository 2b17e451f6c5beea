/**
 * Options whose value is given only with `=`, so that a program after one is not taken for it: `--trace program`, `--trace=FILE program`.
 */
import type { Command } from 'commander'

/** Makes `command` accept `option` in this way; without a value it is the empty text. Its flags must have `[value]`. */
export function takeValueByEquals(command: Command, option: string): void {
  const parse = command.parseOptions.bind(command)
  command.parseOptions = (words) => parse(withValue(command, option, words))
}

function withValue(command: Command, option: string, words: readonly string[]): string[] {
  const changed = [...words]
  for (let i = 0; i < changed.length; i++) {
    const word = changed[i]!
    // Words after the first operand belong to the program.
    if (word === '--' || !word.startsWith('-')) break
    if (word === option) changed[i] = `${option}=`
    else if (command.options.some((known) => known.required && (known.long === word || known.short === word))) i++
  }
  return changed
}
