/**
 * Another user of the machine. What it makes in the places that all users share is not joined; what it did not make it can
 * neither read, cut off nor delete. Needs root, to be two users at once.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, statSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { getDeviceList, openDevice } from '../../src/index.ts'
import { nativeAvailable } from '../../src/memory/index.ts'
import { openStage, type Stage } from './stage.ts'

const nobody = 65534
const names: string[] = []
let stage: Stage | undefined
afterEach(async () => {
  await stage?.close()
  stage = undefined
  for (const name of names.splice(0)) rmSync(`/dev/shm/verbena-${name}`, { force: true, recursive: true })
})

function freshName(): string {
  const name = `attacks-${process.pid}-${names.length}-${Math.random().toString(36).slice(2)}`
  names.push(name)
  return name
}

/** Runs a shell command as another user; what it printed, errors included. */
function asNobody(command: string): string {
  const how = [`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups', 'sh', '-c', command]
  const { stdout, stderr, error } = spawnSync('setpriv', how, { encoding: 'utf8', timeout: 20_000 })
  if (error) throw error
  return stdout + stderr
}

const canBeTwo = nativeAvailable && process.geteuid?.() === 0 && spawnSync('setpriv', ['--version']).status === 0

/** What somebody may find in /dev/shm under the name that a program is about to open. */
const squats: [string, (file: string) => string][] = [
  ['a file that all may read and write', (file) => `truncate -s 64M ${file} && chmod 666 ${file}`],
  ['a file of its own', (file) => `head -c 1000000 /dev/urandom > ${file}; chmod 600 ${file}`],
  ['a file of odd length', (file) => `head -c 12345 /dev/urandom > ${file}; chmod 644 ${file}`],
  ['a symbolic link', (file) => `ln -s /etc/passwd ${file}`],
  ['a folder', (file) => `mkdir ${file}`],
  ['a FIFO', (file) => `mkfifo -m 666 ${file}`],
]

describe.skipIf(!canBeTwo)('another user', { timeout: 60_000 }, () => {
  it.each(squats)('makes %s where a segment shall be', (_, make) => {
    const name = freshName()
    const file = `/dev/shm/verbena-${name}`
    expect(asNobody(make(file))).toBe('')
    const passwd = statSync('/etc/passwd')
    expect(() => openDevice(`shm:${name}`)).toThrow(
      expect.objectContaining({ name: 'VerbsError', code: expect.stringMatching(/^(EACCES|ELOOP|ENXIO|EINVAL)$/) }),
    )
    if (statSync(file).isFile() && make(file).includes('666'))
      expect(() => openDevice(`shm:${name}`)).toThrow(/belongs to user 65534 \(mode 666\).*as user 0/)
    // The list of devices, which looks at all of them, is not disturbed.
    expect(getDeviceList().length).toBeGreaterThan(0)
    expect(statSync('/etc/passwd')).toMatchObject({ size: passwd.size, mtimeMs: passwd.mtimeMs })
    asNobody(`rm -rf ${file}`)
  })

  it('cannot read, write, cut off, delete or join a segment in use', async () => {
    const name = freshName()
    const file = `/dev/shm/verbena-${name}`
    stage = await openStage(`shm:${name}`)
    const { size, mode } = statSync(file)
    const { pid } = stage.victim.child
    expect(mode & 0o777).toBe(0o600)
    await stage.during(async () => {
      for (const command of [
        `head -c 16 ${file}`,
        `truncate -s 0 ${file}`,
        `rm -f ${file}`,
        `mv ${file} ${file}-mine`,
        `chmod 666 ${file}`,
        `kill -STOP ${pid}`,
      ])
        expect(asNobody(command), command).toMatch(/[Pp]ermission denied|not permitted/)
      expect(existsSync(`/proc/${pid}/mem`)).toBe(true)
      // With /proc mounted so that users see their own processes only (hidepid), there is none for it.
      for (const command of [`head -c 16 /proc/${pid}/mem`, `ls /proc/${pid}/fd/`])
        expect(asNobody(command), command).toMatch(/[Pp]ermission denied|No such file/)
      // It changes its user itself, when it has loaded what the other user may not read.
      const join = `
        const { openDevice } = await import('${new URL('../../dist/index.js', import.meta.url).href}')
        process.setgroups([])
        process.setgid(${nobody})
        process.setuid(${nobody})
        try { openDevice('shm:${name}'); console.log('joined') } catch (error) { console.log(error.code, error.message) }`
      const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', join], { encoding: 'utf8' })
      expect(stdout).toMatch(/^EACCES .*belongs to another user/)
    })
    expect(statSync(file).size).toBe(size)
    await stage.judge()
  })
})
