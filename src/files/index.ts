/** Captures in files, pipes and streams: what `capture`, which is pure, leaves to the system. Other folders import from here only. */
export { growingSource } from './growing.ts'
export { fileSource, filesSource, streamSource } from './read.ts'
export { sessionFile, sessionKind, sessionTraceName, sessionTraces } from './session.ts'
export { canWriteZstd, fileSink, gzipSink, isSameFile, zstdSink } from './sink.ts'
