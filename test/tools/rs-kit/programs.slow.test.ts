/** rstream, riostream and rcopy between two processes, and what they refuse. Other devices in programs-elsewhere.slow.test.ts. */
import { afterEach, describe, expect, it } from 'vitest'
import { canShare, freePort } from '../../cli/ends.ts'
import { verbena } from '../../cli/run.ts'
import { killLeftovers, places, says, start } from '../cm-kit/ends.ts'
import { overKernel, printing, running } from './two-processes.ts'

describe.each(places.slice(0, 1))('two processes on $name', { timeout: 120_000 }, (place) => {
  printing(place, [['riostream', 'a']])
  running(place)
})

afterEach(killLeftovers)

describe.skipIf(!canShare)('TCP of the kernel', { timeout: 120_000 }, () => {
  overKernel([])

  it('says that nobody listens, or somebody else', async () => {
    const port = await freePort()
    const nobody = await verbena('rstream', '-T', 's', '-s', '127.0.0.1', '-p', port)
    expect(nobody.stderr).toMatch(/nobody listens on 127\.0\.0\.1 port \d+: start the server there first/)
    expect(nobody.code).toBe(1)
    const server = start(['rstream', '-T', 's', '-p', port])
    await says(server, /usec/)
    const second = await verbena('rstream', '-T', 's', '-p', port)
    expect(second.stderr).toMatch(/port \d+ of 0\.0\.0\.0 is in use: choose another port/)
    expect(second.code).toBe(1)
  })
})

describe('what cannot be', { timeout: 60_000 }, () => {
  it.each([
    [['rstream', '-T', 'x'], /-T: 'x' is not valid. Expected s or socket, a or async/],
    [['rstream', '-T', 'fork'], /-T f: a Node\.js program cannot fork/],
    [['riostream', '-T', 's'], /-T: 's' is not valid/],
    [['rstream', '-S', '0'], /-S: '0'/],
    [['rstream', '-S', 'some'], /-S: 'some'/],
    [['rstream', '-f', 'x'], /-f: 'x'/],
    [['rstream', '--device', 'shm1'], /--device: shm1 lives within one process/],
    [['rcopy', 'a'], /server: missing destination of a/],
    [['rcopy', 'a', 'b:'], /server: 'b:' is not valid/],
    [['rcopy', 'a', 'b', '--dir', 'c'], /--dir: is for the server/],
    [['rcopy', '/nonexistent/file', '127.0.0.1'], /\/nonexistent\/file: .*no such file/],
  ])('verbena %j exits with 2 and says why', async (args, message) => {
    const { code, stderr } = await verbena(...args)
    expect(stderr).toMatch(message)
    expect(code).toBe(2)
  })

  it.each(['rstream', 'riostream', 'rcopy'])('verbena %s --help teaches', async (name) => {
    const { code, stdout } = await verbena(name, '--help')
    expect(stdout).toMatch(new RegExp(`Examples:\n  verbena ${name} `))
    expect(stdout).toContain('--device <dev>')
    expect(code).toBe(0)
  })
})
