/** Programs below a front, as processes: what they see of devices, and what becomes of them. Their door echoes (echo-door.ts). */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Segment } from '../../../src/memory/index.ts'
import { segmentOptions } from './echo-door.ts'

import { canRun, folder, front, ofProgram, results, start, supervisor } from './front-kit.ts'

describe.skipIf(!canRun)('programs below a front', () => {
  it('have their commands, doorbells and descriptors served', async () => {
    const { all, log } = await results('commands')
    expect(all).toEqual({
      ...{ fd: expect.any(Number), rdev: (231 << 8) | 192, device: true, capitals: 7, said: 'VERBS' },
      ...{ busy: 'errno 16', broken: 'errno 5', drained: true, unreadable: 14, far: 700, onCopy: 7 },
      ...{ doorbell: 32, order: 8, foreign: true, socket: 93, route: true },
    })
    expect(log).toContain('rung 1')
    expect(log).toContain('write 1 an order')
    // Of a door that does not tell by itself why calls fail.
    expect(log).toContain('refused true: it is busy (EBUSY)')
    expect(log.slice(-2)).toEqual(['closed 1', 'end, slept true'])
  })

  it('see folders, files and devices by every call on paths', async () => {
    const script = `
      ls -l /dev/infiniband /sys/class/infiniband /sys/class/infiniband_verbs/ >/dev/null || echo ls failed
      ls /dev/infiniband //sys/class/./infiniband/ /sys/class/net/../infiniband_verbs
      stat -c '%F %t:%T' /dev/infiniband/uverbs0
      cd /dev; stat -L -c '%F' infiniband/uverbs0; cd /
      test -r /dev/infiniband/uverbs0 && test -w /dev/infiniband/uverbs0 && ! test -x /dev/infiniband/uverbs0 && echo rw
      test -e /dev/infiniband/uverbs1 || echo no uverbs1
      readlink /sys/class/infiniband/rxe0
      realpath /sys/class/infiniband/rxe0/ports/1
      cat /sys/class/infiniband/rxe0/node_guid /sys/class/infiniband/rxe0/ports/1/gids/0
      find /sys/class/infiniband_verbs -follow -name ibdev
      cat /sys/class/infiniband/rxe0/nothing 2>/dev/null || echo nothing
      (echo x > /sys/class/infiniband/rxe0/node_desc) 2>/dev/null || echo read only
      ls /sys/class/infiniband/rxe0/node_guid/ 2>/dev/null || echo no folder
      test -d /sys/class && test -r /proc/self/maps && echo the rest is there`
    const { code, stdout, stderr } = await start(['sh', '-c', script]).ended
    expect(stderr).toBe('')
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => line.trim()),
    ).toEqual([
      ...['//sys/class/./infiniband/:', 'rxe0', '', '/dev/infiniband:', 'rdma_cm', 'uverbs0', ''],
      ...['/sys/class/net/../infiniband_verbs:', 'abi_version', 'uverbs0'],
      'character special file e7:c0',
      'character special file',
      'rw',
      'no uverbs1',
      '../../devices/virtual/infiniband/rxe0',
      '/sys/devices/virtual/infiniband/rxe0/ports/1',
      '0200:00ff:fe00:0001',
      '0000:0000:0000:0000:0000:ffff:7f00:0001',
      '/sys/class/infiniband_verbs/uverbs0/ibdev',
      'nothing',
      'read only',
      'no folder',
      'the rest is there',
    ])
    expect(code).toBe(0)
  })

  it('have paths across pages read, and the errors of the kernel for those that do not end', async () => {
    const { all } = await results('paths')
    expect(all).toEqual({
      ...{ crossing: 'open', atEnd: 'open', fits: 'open' },
      ...{ notEnded: 'errno 14', long: 'errno 36', nowhere: 'errno 14' },
    })
  })

  it('have polled files, whose calls find other files of the caller', async () => {
    const { all, log } = await results('polled')
    expect(all).toEqual({
      ...{
        states: [false, true, false],
        // The filter does not know the last number.
        onCopies: [4, 4, 'EBADF'],
        readsCopy: true,
        read: 1,
        posted: 1,
        taken: 4,
        isDevice: true,
        empty: 'EAGAIN',
        wrong: 'EINVAL',
      },
      ...{ same: 1, foreign: 0 },
    })
    expect(log.filter((line) => line === 'closed polled')).toHaveLength(2)
  })

  it.skipIf(!existsSync('/usr/bin/perl'))(
    'wait in calls that are answered later; what was for one that was killed is for the next',
    async () => {
      const script = `
        use Fcntl; use POSIX;
        $| = 1; alarm 20;
        sysopen(F, "/dev/infiniband/rdma_cm", O_RDWR) or die $!;
        sub waiter { my $pid = fork(); return $pid if $pid; print syswrite(F, "wait") // "no: $!", "\\n"; POSIX::_exit(0) }
        my $killed = waiter(); <STDIN>;
        kill 9, $killed; waitpid $killed, 0;
        syswrite(F, "post");
        my $second = waiter(); waitpid $second, 0;
        my @both = (waiter(), waiter()); <STDIN>;
        syswrite(F, "post"); syswrite(F, "post");
        waitpid $_, 0 for @both;
        fcntl(F, F_SETFL, O_NONBLOCK); print syswrite(F, "wait") // "no: $!", "\\n"`
      const { child, ended, log } = start(['perl', '-e', script])
      const waits = (count: number): Promise<void> =>
        expect.poll(() => log().filter((line) => line === 'waits').length, { interval: 5 }).toBe(count)
      await waits(1)
      child.stdin!.write('\n')
      await waits(3)
      child.stdin!.write('\n')
      const { code, stdout, stderr } = await ended
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout.trim().split('\n')).toEqual(['4', '4', '4', 'no: Resource temporarily unavailable'])
      expect(log().filter((line) => line === 'closed polled')).toHaveLength(1)
    },
  )

  it('inherit a file, which ends with its last descriptor', async () => {
    const { all, log } = await results('inherited')
    expect(all).toMatchObject({ onInherited: 7 })
    expect(log.map((line) => line.split(' ')[0])).toEqual(['open', 'ioctl', 'closed', 'end,'])
    expect(log[1]).toMatch(/another image$/)
  })

  it('keep a file when they execute another program, which is another image', async () => {
    const child = ofProgram('child')
      .map((word) => `'${word}'`)
      .join(' ')
    const { ended, log } = start(['sh', '-c', `exec 5<>/dev/infiniband/uverbs0; exec ${child} 5`])
    expect(await ended).toMatchObject({ stdout: '{"onInherited":7}\n' })
    const [, opener] = /^open 1 by (\d+)$/.exec(log()[0]!)!
    expect(log()[1]).toBe(`ioctl 1 0xc0181b01 1 by ${opener}, another image`)
  })

  it('send a file to another process', async () => {
    const { all, log } = await results('passed')
    expect(all).toEqual({ onReceived: 7, served: 1 })
    expect(log.map((line) => line.split(' ')[0])).toEqual(['open', 'ioctl', 'closed', 'end,'])
  })

  it('may be killed while they wait for an answer', async () => {
    const inCommand = start(ofProgram('killed'))
    expect(await inCommand.ended).toMatchObject({ signal: 'SIGKILL', stderr: '' })
    expect(inCommand.log().slice(-2)).toEqual(['closed 1', 'end, slept true'])
    const log = join(folder, 'opening')
    writeFileSync(`${log}.kill`, '')
    const inOpen = start(ofProgram('commands'), { log })
    expect(await inOpen.ended).toMatchObject({ signal: 'SIGKILL', stderr: '' })
    expect(inOpen.log().map((line) => line.split(' ')[0])).toEqual(['open', 'closed', 'end,'])
  })
})

describe.skipIf(!canRun)('a door', () => {
  it('is woken by threads of other processes while the supervisor sleeps', async () => {
    const log = join(folder, 'woken')
    const name = `run-front-${process.pid}`
    const segment = Segment.named(name, segmentOptions)
    writeFileSync(`${log}.segment`, name)
    const front = start(ofProgram('signals'), { log })
    await front.says(/ready/)
    const me = Number(/^waits as (\d+)$/m.exec(front.log().join('\n'))![1])
    for (let value = 1; value <= 20; value++) {
      Atomics.store(segment.i32, segment.staticStart / 4, value)
      segment.wake(me)
      await expect.poll(() => front.log(), { interval: 1 }).toContain(`progress ${value}`)
    }
    front.child.kill('SIGTERM')
    expect(await front.ended).toMatchObject({ code: 0, stderr: '' })
  })
})

describe.skipIf(!canRun)('the command', () => {
  it('ends as the program does', async () => {
    expect(await start(['sh', '-c', 'exit 3']).ended).toMatchObject({ code: 3 })
    expect(await start(['sh', '-c', 'kill -TERM $$']).ended).toMatchObject({ code: null, signal: 'SIGTERM' })
  })

  it('has the streams of the program', async () => {
    const { child, ended } = start(['cat'])
    child.stdin!.end('through')
    expect((await ended).stdout).toBe('through')
  })

  it('stays until the last descendant has ended, and serves it', async () => {
    const daemon = 'while kill -0 $$ 2>/dev/null; do :; done; cat /sys/class/infiniband/rxe0/node_type'
    const { code, stdout } = await start(['sh', '-c', `(${daemon}) & exit 5`]).ended
    expect({ code, stdout }).toEqual({ code: 5, stdout: '1: CA\n' })
  })

  it('leaves nothing behind', async () => {
    const temporary = mkdtempSync(join(folder, 'own-'))
    const { ended } = start(['sh', '-c', 'ls /dev/infiniband > /dev/null; ls "$TMPDIR"'], { temporary })
    expect((await ended).stdout).toMatch(/^verbena-run-/)
    expect(readdirSync(temporary)).toEqual([])
  })

  it('forwards what is sent to it alone', async () => {
    const { child, says, ended } = start(ofProgram('signals'))
    await says(/ready/)
    child.kill('SIGTERM')
    expect(JSON.parse((await ended).stdout.split('\n')[1]!)).toEqual({ interrupts: 0 })
  })

  it.skipIf(!existsSync('/usr/bin/script'))(
    'leaves Ctrl-C to the terminal, which sends it to the program once',
    async () => {
      const file = join(folder, 'typed.sh')
      const words = [process.execPath, ...front.execArgv, front.file, join(folder, 'typed'), ...ofProgram('signals')]
      writeFileSync(file, `exec ${words.map((word) => `'${word}'`).join(' ')}\n`)
      const env = { ...process.env, ECHO_SUPERVISOR: supervisor }
      const child = spawn('script', ['-qec', `sh ${file}`, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'inherit'] })
      let output = ''
      child.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString()
      })
      await expect.poll(() => /ready (\d+)/.exec(output), { interval: 5 }).not.toBe(null)
      child.stdin.write('\x03')
      await expect.poll(() => output).toContain('^C')
      // After the one that Ctrl-C was.
      process.kill(Number(/ready (\d+)/.exec(output)![1]), 'SIGTERM')
      await once(child, 'close')
      expect(output).toContain('{"interrupts":1}')
    },
  )

  it('says what cannot be started', async () => {
    const missing = await start(['/no/such/program']).ended
    expect(missing).toMatchObject({
      code: 99,
      stderr: expect.stringMatching(/^ENOENT: \/no\/such\/program: there is no/),
    })
    const few = await start(['true'], { wrapper: ['sh', '-c', 'ulimit -n 100; exec "$@"', 'sh'] }).ended
    expect(few).toMatchObject({
      code: 99,
      stderr: expect.stringMatching(/^EMFILE: the hard limit of open files is 100,/),
    })
    const closed = await start(['true'], { log: 'fails' }).ended
    expect(closed).toMatchObject({ code: 99, stderr: expect.stringContaining('this adapter does not open') })
  })

  it('cannot be below a filter with a listener', async () => {
    const below = [process.execPath, ...front.execArgv, front.file, join(folder, 'inner'), 'true']
    expect(await start(below).ended).toMatchObject({
      code: 99,
      stderr: expect.stringMatching(/EBUSY.*another seccomp/),
    })
  })
})
