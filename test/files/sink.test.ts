/** Files that are written: whole or not at all. */
import { linkSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fileSink, isSameFile } from '../../src/files/index.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'verbena-sink-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const bytes = new TextEncoder().encode('new')

describe('a file', () => {
  it('takes the place of an older one when it is closed, and its permissions', () => {
    const path = join(dir, 'a')
    writeFileSync(path, 'old', { mode: 0o640 })
    const sink = fileSink(path)
    sink.write(bytes)
    expect(readFileSync(path, 'utf8')).toBe('old')
    sink.close!()
    expect(readFileSync(path, 'utf8')).toBe('new')
    expect(statSync(path).mode & 0o777).toBe(0o640)
    expect(readdirSync(dir)).toEqual(['a'])
  })

  it('that is abandoned leaves the older one, and nothing else', () => {
    const path = join(dir, 'a')
    writeFileSync(path, 'old')
    for (const name of [path, join(dir, 'b')]) {
      const sink = fileSink(name)
      sink.write(bytes)
      sink.abandon!()
    }
    expect(readFileSync(path, 'utf8')).toBe('old')
    expect(readdirSync(dir)).toEqual(['a'])
  })

  it('is written although a process of the same number, which was killed, left its own', () => {
    const path = join(dir, 'a')
    fileSink(path).write(bytes)
    const sink = fileSink(path)
    sink.write(bytes)
    sink.close!()
    expect(readFileSync(path, 'utf8')).toBe('new')
  })

  it('that cannot be made is named as it would be in the end', () => {
    const path = join(dir, 'none', 'a')
    expect(() => fileSink(path)).toThrow(`ENOENT: no such file or directory, open '${path}'`)
  })

  it('that somebody else has removed meanwhile can be abandoned', () => {
    const sink = fileSink(join(dir, 'a'))
    for (const name of readdirSync(dir)) rmSync(join(dir, name))
    sink.abandon!()
    expect(readdirSync(dir)).toEqual([])
  })

  it('is written behind symbolic links, to a file that exists or not', () => {
    writeFileSync(join(dir, 'a'), 'old')
    symlinkSync('a', join(dir, 'to-a'))
    symlinkSync('to-b', join(dir, 'chain'))
    symlinkSync('b', join(dir, 'to-b'))
    for (const name of ['to-a', 'chain']) {
      const sink = fileSink(join(dir, name))
      sink.write(bytes)
      sink.close!()
    }
    expect(['a', 'b'].map((name) => readFileSync(join(dir, name), 'utf8'))).toEqual(['new', 'new'])
    expect(readdirSync(dir).toSorted()).toEqual(['a', 'b', 'chain', 'to-a', 'to-b'])
  })

  it('is known under all its names', () => {
    const path = join(dir, 'a')
    writeFileSync(path, 'old')
    writeFileSync(join(dir, 'copy'), 'old')
    linkSync(path, join(dir, 'hard'))
    symlinkSync('a', join(dir, 'soft'))
    for (const name of ['a', 'hard', 'soft']) expect(isSameFile(path, join(dir, name)), name).toBe(true)
    for (const name of ['copy', 'new']) expect(isSameFile(path, join(dir, name)), name).toBe(false)
    expect(isSameFile('/dev/null', '/dev/null')).toBe(false)
  })
})
