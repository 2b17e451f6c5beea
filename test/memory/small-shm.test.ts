/** Named segments where /dev/shm is as small as a container has it, 64 MiB, and when it is full: an error, never a signal. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'
import { asUser, noOtherUsers } from '../other-users.ts'

/** Runs Node with a /dev/shm of its own. */
function run(mib: number, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const script = `mount -t tmpfs -o size=${mib}m tmpfs /dev/shm && exec "$@"`
  return spawnSync('unshare', ['-m', 'sh', '-c', script, 'sh', process.execPath, ...args], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
}

const possible = nativeAvailable && run(1, ['-e', '0']).status === 0
const index = new URL('../../dist/index.js', import.meta.url).href

/** Opens a device and uses its memory; prints what came of it. */
const use = `
  import { openDevice } from ${JSON.stringify(index)}
  const said = []
  for (const device of ['shm0', 'shm:small'])
    try { openDevice(device).alloc(600_000); said.push('ok') } catch ({ code, message }) { said.push(code + ' ' + message) }
  console.log(JSON.stringify(said))
  process.exit()`

/** What `use` says of shm0 and shm:small after these commands of a shell, which see no other process's mounts. */
function after(commands: string, wrap: readonly string[] = []): string[] {
  const command = [...wrap, process.execPath, '--input-type=module', '-e', use]
  const { stdout, stderr } = spawnSync('unshare', ['-m', 'sh', '-c', `${commands} && exec "$@"`, 'sh', ...command], {
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

describe.skipIf(!possible)('a small /dev/shm (needs the right to mount)', () => {
  it('of 64 MiB holds a segment; when it is full, that is ENOMEM with the remedy, and what is there goes on', () => {
    const { stdout, stderr, status, signal } = run(64, [fileURLToPath(new URL('./small-shm.mjs', import.meta.url))])
    expect({ stderr, status, signal }).toEqual({ stderr: '', status: 0, signal: null })
    const seen = JSON.parse(stdout)
    expect(seen).toMatchObject({ before: true, full: { code: 'ENOMEM' }, filled: 'ENOSPC', again: null })
    expect(seen.full.message).toMatch(/\/dev\/shm has no .*delete old segments.*docker run --shm-size.*VERBENA_SHM_MIB/)
    // Most of it is the table of keys.
    expect(seen.fresh).toBeLessThan(22)
    expect(seen.firstMib).toBeGreaterThan(38)
    expect(seen.secondMib).toBe(seen.firstMib)
    expect(seen.fullMib - seen.afterMib).toBeGreaterThan(seen.firstMib - 6)
    expect(seen.while).toMatchObject({ exchange: true, later: true, mrs: null })
    for (const what of ['alloc', 'cqs', 'pds', 'qps', 'contexts']) {
      expect([what, seen.while[what]?.code]).toEqual([what, 'ENOMEM'])
      expect(seen.while[what].message).toMatch(/docker run --shm-size/)
    }
  })

  it('that cannot hold even an empty one is ENOMEM, and nothing is left of it', () => {
    const program = `
      import { readdirSync } from 'node:fs'
      import { openDevice } from ${JSON.stringify(index)}
      try { openDevice('shm:small') } catch ({ code, message }) { console.log(JSON.stringify({ code, message, files: readdirSync('/dev/shm') })) }`
    const { stdout, stderr } = run(4, ['--input-type=module', '-e', program])
    expect(stderr).toBe('')
    const seen = JSON.parse(stdout)
    expect(seen).toMatchObject({ code: 'ENOMEM', files: [] })
    expect(seen.message).toMatch(
      /segment 'small' could not be created.*\(\d of 4 MiB are free\).*docker run --shm-size/,
    )
  })

  it('VERBENA_SHM_MIB may be small; what it must not be is said when a device is opened', () => {
    const said = (mib: string): string[] => {
      const { stdout, stderr } = run(64, ['--input-type=module', '-e', use], { VERBENA_SHM_MIB: mib })
      expect(stderr).toBe('')
      return JSON.parse(stdout)
    }
    expect(said('1')).toEqual(['ok', 'ok'])
    for (const text of said('0')) expect(text).toMatch(/^EINVAL .*VERBENA_SHM_MIB must be an integer from 1 to 2048/)
  })
  it('an error says what VERBENA_SHM_MIB is', () => {
    const program = `
      import { openDevice } from ${JSON.stringify(index)}
      try { openDevice('shm:small').alloc(5 << 20) } catch ({ code, message }) { console.log(code + ' ' + message) }
      process.exit()`
    const { stdout } = run(64, ['--input-type=module', '-e', program], { VERBENA_SHM_MIB: '3' })
    expect(stdout).toMatch(/^ENOMEM .*set VERBENA_SHM_MIB to more \(it is 3\)/)
  })

  it.each([
    [
      'that is read-only',
      'mount -t tmpfs -o ro tmpfs /dev/shm',
      /^ENXIO .*is on a read-only file system: mount a tmpfs at/,
    ],
    [
      'that is not there',
      'mount -t tmpfs tmpfs /dev',
      /^ENXIO .*because there is no \/dev\/shm: mount a tmpfs there, or use shm0/,
    ],
  ])('%s', (_, commands, error) => {
    const [own, named] = after(commands)
    expect(own).toBe('ok')
    expect(named).toMatch(error)
  })

  it('that this account may not write to', ({ skip }) => {
    const reason = noOtherUsers()
    if (reason !== undefined) skip(reason)
    const [own, named] = after('mount -t tmpfs -o mode=0755 tmpfs /dev/shm', asUser(65_534, 65_534))
    expect(own).toBe('ok')
    expect(named).toMatch(/^EACCES .*this account may not make files in \/dev\/shm/)
  })

  it.each([
    ['without /proc', 'mount -t tmpfs tmpfs /proc'],
    ['where other users are hidden in /proc', 'mount -t proc -o hidepid=2 proc /proc'],
  ])('works %s', (_, commands) => {
    expect(after(`mount -t tmpfs -o size=64m tmpfs /dev/shm && ${commands}`)).toEqual(['ok', 'ok'])
  })
})
