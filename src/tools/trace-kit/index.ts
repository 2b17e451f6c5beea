/** Code that the commands which read captures share: finding the file, its options, and reporting damage. */
export { interfacesOf } from './interfaces.ts'
export {
  captureFile,
  countOf,
  exitCodeOf,
  mustBeCapture,
  noteDamage,
  noteIfNothing,
  type ReadOptions,
  readingOf,
  readsCapture,
  readsPackets,
  stopOnInterrupt,
} from './source.ts'
export { type Tapped, tapCommand } from './tapped-command.ts'
