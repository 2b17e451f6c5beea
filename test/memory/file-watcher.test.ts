/** Being told that a memory file changes. */
import { closeSync, writeSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  closeFd,
  FileWatcher,
  makeMemoryFile,
  nativeAvailable,
  reopenMemoryFile,
} from '../../src/memory/native/index.ts'

describe.skipIf(!nativeAvailable)('a memory file that is watched', () => {
  const far = 2 ** 30

  it('tells of writes, and the end of a description that can write', () => {
    const watcher = new FileWatcher()
    const seen: string[] = []
    const events = {
      modified: (watch: number) => seen.push(`modified ${watch}`),
      closed: (watch: number) => seen.push(`closed ${watch}`),
      overflowed: () => seen.push('overflowed'),
    }
    const file = makeMemoryFile('test', 0)
    const again = reopenMemoryFile(file, far)
    const watch = watcher.watch(file)
    watcher.drain(events)
    expect(seen.splice(0)).toEqual([])
    writeSync(again, 'doorbell')
    writeSync(again, 'doorbell')
    watcher.drain(events)
    // Equal events that follow each other are one.
    expect(seen.splice(0)).toEqual([`modified ${watch}`])
    closeFd(again)
    watcher.drain(events)
    expect(seen.splice(0)).toEqual([`closed ${watch}`])
    watcher.unwatch(watch)
    writeSync(file, 'x')
    watcher.drain(events)
    expect(seen).toEqual([])
    closeFd(file)
    closeSync(watcher.fd)
  })
})
