/**
 * Another user of the machine. What it makes in the places that all users share is not joined; what it did not make it can
 * neither read, cut off nor delete; servers on loopback, which it reaches, do nothing for it. Needs root, to be two users at once.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { getDeviceList, openDevice } from '../../src/index.ts'
import { nativeAvailable } from '../../src/memory/index.ts'
import { command } from '../built.ts'
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

  it('commands no gateway, and sees nothing of it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'verbena-other-user-'))
    const proof = join(folder, 'proof')
    const nodes = { source: { type: 'signal', rate: 100 }, broker: { type: 'redis', uri: 'tcp://hush@localhost' } }
    writeFileSync(join(folder, 'lab.json'), JSON.stringify({ http: { port: 0 }, nodes, paths: [{ in: 'source' }] }))
    const child = spawn(process.execPath, [command, 'gateway', 'node', join(folder, 'lab.json')])
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
    const ended = once(child, 'exit')
    try {
      await expect.poll(() => said, { timeout: 30_000 }).toMatch(/#token=/)
      const [, url] = /(http:\S+)\/#token=/.exec(said)!
      const exec = JSON.stringify({ type: 'exec', exec: `id > ${proof}; sleep 1000` })
      const config = JSON.stringify({ config: { nodes: { evil: JSON.parse(exec) }, paths: [{ in: 'evil' }] } })
      const attempts: [string, string, string?][] = [
        ['PUT', 'node/evil', exec],
        ['POST', 'paths', '{"in":"evil"}'],
        ['POST', 'restart', config],
        ['POST', 'shutdown'],
        ...['config', 'status', 'nodes', 'metrics', 'node/source', 'graph.svg'].map((path): [string, string] => [
          'GET',
          path,
        ]),
      ]
      const script = `
        for (const [method, path, body] of ${JSON.stringify(attempts)}) {
          const { status } = await fetch('${url}/api/v2/' + path, { method, body })
          console.log(status)
        }
        const socket = new (await import('node:net')).Socket().connect(${new URL(url!).port}, '127.0.0.1')
        socket.write('GET /source.json?watch HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\\r\\n\\r\\n')
        socket.on('data', (data) => { console.log(String(data).split(' ')[1]); socket.destroy() })`
      const text = asNobody(`${process.execPath} --input-type=module -e "$(cat <<'END'\n${script}\nEND\n)"`)
      expect(text.trim().split('\n')).toEqual([...attempts, 'WebSocket'].map(() => '401'))
      // The token is not in what other users see of a process either.
      expect(asNobody(`cat /proc/${child.pid}/cmdline; cat /proc/${child.pid}/environ`)).not.toContain('#token')
      child.kill('SIGTERM')
      expect(await ended).toEqual([0, null])
      expect(existsSync(proof)).toBe(false)
      expect(said).not.toContain('hush')
    } finally {
      child.kill('SIGKILL')
      rmSync(folder, { recursive: true })
    }
  })
})
