/** What the commands that read captures share: finding the file, its options, saying what is wrong with it. */
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
