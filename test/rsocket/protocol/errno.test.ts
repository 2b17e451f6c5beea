/** Error numbers: those of the system, by the names that programs know. */
import { constants } from 'node:os'
import { afterEach, expect, test } from 'vitest'
import { Errno, type ErrnoName, errnoName, errnoText, rsocket } from '../../../src/index.ts'
import { useErrno } from '../../../src/rsocket/protocol/errno.ts'

afterEach(() => useErrno(constants.errno))

test('with the sockets, every number is that of the system', () => {
  expect(rsocket).toBeDefined()
  const names = Object.keys(Errno) as ErrnoName[]
  expect(names.length).toBeGreaterThan(25)
  for (const name of names) {
    expect(Errno[name], name).toBe(constants.errno[name])
    expect(errnoName(-Errno[name])).toBe(name)
    expect(errnoText(Errno[name])).not.toBe('')
  }
})

test('another system has other numbers', () => {
  useErrno({ ...constants.errno, EAGAIN: 35 })
  expect(Errno.EAGAIN).toBe(35)
  expect(errnoName(35)).toBe('EAGAIN')
  expect(errnoName(constants.errno.EAGAIN)).toBe('EIO')
})
