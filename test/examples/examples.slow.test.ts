/** The tutorial's examples with the outputs, sizes and errors that shown.slow.test.ts leaves. */
import { examples, printsResults, takesSizes, teaches } from './examples.ts'

printsResults('JSON')
teaches(examples.slice(1))
takesSizes([
  ['4096', '7'],
  ['4', '1'],
  ['100000', '2'],
])
