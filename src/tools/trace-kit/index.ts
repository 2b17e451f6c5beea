/** What the commands that read captures share: finding the file, its options, saying what is wrong with it. */
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
  stopOnInterrupt,
} from './source.ts'
