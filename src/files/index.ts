/** Captures in files, pipes and streams: what `capture`, which is pure, leaves to the system. Other folders import from here only. */
export { fileSource, streamSource } from './read.ts'
export { fileSink, gzipSink, isSameFile } from './sink.ts'
