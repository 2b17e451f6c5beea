/**
 * Another user of the machine, who may make any file in /dev/shm that is not there yet: makes the segment first that a program
 * is going to open, and does to the segments of others what the system lets it. Root alone can play other users.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'

const index = JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)
const attacker = { uid: 65534, gid: 65534 }
const victim = { uid: 1, gid: 1 }
const run = (user: object, program: string) =>
  spawnSync(process.execPath, ['--input-type=module', '-e', program], { ...user, encoding: 'utf8', env: {} })

/** The folder of the checkout may be closed to others. */
const possible =
  nativeAvailable &&
  process.geteuid?.() === 0 &&
  [attacker, victim].every((user) => run(user, `await import(${index})`).status === 0)

const name = `other-user-${process.pid}`
const path = JSON.stringify(`/dev/shm/verbena-${name}`)
/** Opens the segment, says so, and stays until its input ends. */
const opener = (after = ''): string => `
  import { chmodSync } from 'node:fs'
  import { openDevice } from ${index}
  const context = openDevice('shm:${name}')
  context.alloc(4096).fill(0x77)
  ${after}
  console.log('open')
  process.stdin.resume().on('end', () => process.exit())`

/** Runs `body` while a program of this user has the segment open. */
async function whileOpen(user: object, after: string, body: () => void): Promise<void> {
  const holder = spawn(process.execPath, ['--input-type=module', '-e', opener(after)], {
    ...user,
    env: {},
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  try {
    await once(holder.stdout!, 'data')
    body()
    expect(holder.exitCode).toBe(null)
  } finally {
    holder.stdin!.end()
    await once(holder, 'exit')
  }
  expect(holder.signalCode).toBe(null)
}

describe.skipIf(!possible)('another user (needs root)', () => {
  it('who makes a segment first is not joined, whatever mode it gives the file', async () => {
    const open = `
      import { getDeviceList, openDevice } from ${index}
      const listed = getDeviceList().some(({ name }) => name.startsWith('shm:${name}'))
      let said = 'opened'
      try { openDevice('shm:${name}') } catch ({ code, message }) { said = code + ' ' + message }
      console.log(JSON.stringify({ listed, said }))
      process.exit()`
    await whileOpen(attacker, `chmodSync(${path}, 0o666)`, () => {
      for (const user of [victim, { uid: 0, gid: 0 }]) {
        const { stdout, stderr, status } = run(user, open)
        expect({ stderr, status }).toEqual({ stderr: '', status: 0 })
        const { listed, said } = JSON.parse(stdout)
        expect(listed).toBe(false)
        expect(said).toMatch(new RegExp(`^EACCES .*belongs to user 65534 \\(mode 666\\).*as user ${user.uid}`))
      }
    })
  })

  it('cannot read, write, cut off, replace or take away the segment of a program', async () => {
    const attack = `
      import * as fs from 'node:fs'
      const tried = (body) => { try { body(); return 'done' } catch ({ code }) { return code } }
      console.log(JSON.stringify([
        tried(() => fs.openSync(${path}, 'r')),
        tried(() => fs.openSync(${path}, 'r+')),
        tried(() => fs.truncateSync(${path}, 4096)),
        tried(() => fs.chmodSync(${path}, 0o666)),
        tried(() => fs.unlinkSync(${path})),
        tried(() => fs.renameSync(${path}, ${path} + '.old')),
      ]))`
    await whileOpen(victim, '', () => {
      const { stdout } = run(attacker, attack)
      expect(JSON.parse(stdout)).toEqual(['EACCES', 'EACCES', 'EACCES', 'EPERM', 'EPERM', 'EPERM'])
    })
    expect(existsSync(`/dev/shm/verbena-${name}`)).toBe(false)
  })
})
