/** Captures in files, pipes and streams: the input and output of `capture`, which is pure. Other folders import from here only. */
export { growingSource } from './growing.ts'
export { fileSource, filesSource, streamSource } from './read.ts'
export { sessionFile, sessionKind, sessionTraceName, sessionTraces } from './session.ts'
export { canWriteZstd, fileSink, gzipSink, isSameFile, zstdSink } from './sink.ts'
