/** An option with a few words as values. */
import { Option } from 'commander'
import { oneOf } from './option.ts'
import { wrongValue } from './usage.ts'

/** Returns an option whose value is one of `names`, in any case of letters. */
export function choiceOption(flags: string, description: string, names: readonly string[]): Option {
  const flag = flags.split(/[ ,]/)[0]!
  return new Option(flags, description).choices(names).argParser((text) => {
    const found = oneOf(...names)(text)
    if (found === undefined) throw wrongValue(flag, text, names, names[0])
    return found
  })
}
