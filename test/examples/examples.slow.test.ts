/** The tutorial's examples with the outputs and sizes that examples.test.ts leaves. */
import { printsResults, takesSizes } from './examples.ts'

printsResults('JSON')
takesSizes([
  ['4', '1'],
  ['100000', '2'],
])
