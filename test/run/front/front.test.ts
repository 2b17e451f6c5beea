/** Programs below a front, as processes: what they see of devices, and what becomes of them. Their door echoes (echo-door.ts). */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { Segment } from '../../../src/memory/index.ts'
import { callNumber, nativeAvailable, thisProcessor } from '../../../src/memory/native/index.ts'
import { requireLibc } from '../../../src/memory/native/libc.ts'
import { startable } from '../../entries.ts'
import { segmentOptions } from './echo-door.ts'

const actions = '/proc/sys/kernel/seccomp/actions_avail'
/** Where the kernel has no user notification, these tests are skipped. */
const canRun =
  nativeAvailable &&
  thisProcessor !== undefined &&
  existsSync(actions) &&
  readFileSync(actions, 'latin1').includes('user_notif')

const folder = mkdtempSync(join(tmpdir(), 'verbena-front-'))
afterAll(() => rmSync(folder, { recursive: true }))
const program = startable(new URL('program.process.ts', import.meta.url))
const front = startable(new URL('echo-run.process.ts', import.meta.url))
const supervisor = pathToFileURL(startable(new URL('echo-supervisor.worker.ts', import.meta.url)).file).href
let logs = 0

interface Front {
  readonly child: ChildProcess
  readonly log: () => string[]
  readonly says: (what: RegExp) => Promise<RegExpExecArray>
  readonly ended: Promise<{ code: number | null; signal: string | null; stdout: string; stderr: string }>
}

/** Starts a command below a front, with `wrapper` before all of it. */
function start(command: readonly string[], { wrapper = [] as string[], log = '', temporary = folder } = {}): Front {
  const file = log || join(folder, `log${logs++}`)
  const [first, ...rest] = [...wrapper, process.execPath, ...front.execArgv, front.file, file, ...command]
  const env = { ...process.env, ECHO_SUPERVISOR: supervisor, TMPDIR: temporary }
  const child = spawn(first!, rest, { env, stdio: ['pipe', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, stdout, stderr }))
  return {
    child,
    log: () => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []),
    says: async (what) => {
      await expect.poll(() => what.exec(stdout), { interval: 5 }).not.toBe(null)
      return what.exec(stdout)!
    },
    ended,
  }
}

const ofProgram = (name: string): string[] => [process.execPath, ...program.execArgv, program.file, name]

/** Runs the program to its end: its results, and what the door has seen. */
async function results(
  name: string,
  { wrapper = [] as string[], within = [] as string[] } = {},
): Promise<{ all: Record<string, unknown>; log: string[] }> {
  const { ended, log } = start([...within, ...ofProgram(name)], { wrapper })
  const { code, stdout, stderr } = await ended
  expect({ code, stderr }).toMatchObject({ code: 0 })
  const lines = stdout.trim().split('\n')
  return { all: Object.assign({}, ...lines.map((line) => JSON.parse(line))), log: log() }
}

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

  it.skipIf(!existsSync('/usr/bin/perl'))(
    'have handlers of signals run while they wait, and are served after that',
    async () => {
      const script = `
      use Fcntl; use POSIX;
      $| = 1; alarm 20;
      sysopen(F, "/dev/infiniband/rdma_cm", O_RDWR) or die $!;
      my $poster = fork() || do { <STDIN>; syswrite(F, "post"); POSIX::_exit(0) };
      sub on { sigaction(SIGUSR1, POSIX::SigAction->new(sub { print "handled\\n" }, POSIX::SigSet->new, $_[0])) }
      on(0); print syswrite(F, "wait") // "no: $!", "\\n";
      on(SA_RESTART); print syswrite(F, "wait") // "no: $!", "\\n"`
      const { child, ended, log, says } = start(['perl', '-e', script])
      const waits = (count: number): Promise<void> =>
        expect.poll(() => log().filter((line) => line === 'waits').length, { interval: 5 }).toBe(count)
      await waits(1)
      child.kill('SIGUSR1')
      await says(/handled\nno: Interrupted system call\n/)
      await waits(2)
      child.kill('SIGUSR1')
      // The kernel has restarted it, so that it has come again.
      await waits(3)
      child.stdin!.write('\n')
      const { code, stdout } = await ended
      expect({ code, stdout }).toEqual({ code: 0, stdout: 'handled\nno: Interrupted system call\nhandled\n4\n' })
    },
  )

  it.skipIf(!existsSync('/usr/bin/perl'))('wait many times while others end, and end with their own code', async () => {
    // Who posts is an orphan, for which the command waits.
    const script = `
      use Fcntl; use POSIX;
      alarm 20;
      sysopen(F, "/dev/infiniband/rdma_cm", O_RDWR) or die $!;
      for (1 .. 60) {
        my $child = fork() || do { fork() || syswrite(F, "post"); POSIX::_exit(0) };
        syswrite(F, "wait") == 4 or die $!;
        waitpid $child, 0;
      }
      exit 7`
    expect(await start(['perl', '-e', script]).ended).toMatchObject({ code: 7, stderr: '' })
  })

  const traced = [
    { what: 'wait while they are traced', blocks: '' },
    { what: 'wait while they are traced and block all signals', blocks: 'sigprocmask(SIG_BLOCK, $all) or die $!;' },
  ]
  const canTrace = existsSync('/usr/bin/perl') && existsSync('/usr/bin/strace')
  it.skipIf(!canTrace).each(traced)('$what', async ({ blocks }) => {
    const script = `
      use Fcntl; use POSIX;
      $| = 1; alarm 20;
      sysopen(F, "/dev/infiniband/rdma_cm", O_RDWR) or die $!;
      my $poster = fork() || do { <STDIN>; syswrite(F, "post"); POSIX::_exit(0) };
      my $all = POSIX::SigSet->new; $all->fillset; ${blocks}
      print syswrite(F, "wait") // "no: $!", "\\n"`
    const { child, ended, log } = start(['strace', '-f', '-qq', '-e', 'trace=none', 'perl', '-e', script])
    await expect.poll(() => log(), { interval: 5 }).toContain('waits')
    child.stdin!.write('\n')
    expect(await ended).toMatchObject({ code: 0, stdout: '4\n' })
    // It was made again, by a signal that only strace sees.
    expect(log().filter((line) => line === 'waits')).toHaveLength(1)
  })

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

  it('execute each command once, whatever signals come', async () => {
    expect((await results('count')).all).toEqual({ last: 1500 })
  })

  it('open and close a file many times under one number', async () => {
    const { all, log } = await results('again')
    expect(all).toEqual({ numbers: 1 })
    expect(log.filter((line) => line.startsWith('closed'))).toHaveLength(300)
  })

  it('open files while signals interrupt the supervisor', async () => {
    const log = join(folder, 'interrupted')
    const run = start(ofProgram('interrupted'), { wrapper: ['env', 'ECHO_SIGNALS=1'], log })
    await expect.poll(run.log, { interval: 1 }).toContainEqual(expect.stringMatching(/^open 1 /))
    const tid = Number(readFileSync(`${log}.thread`, 'latin1'))
    const { syscall } = requireLibc('tkill')
    const storm = setInterval(() => {
      for (let i = 0; i < 50; i++) syscall(callNumber('tkill'), tid, constants.signals.SIGPROF, 0, 0, 0, 0)
    })
    // When the command ends it has no handler any more.
    await run.says(/opened/).finally(() => clearInterval(storm))
    run.child.stdin!.end()
    const { code, stdout, stderr } = await run.ended
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'opened\n{"numbers":1}\n', stderr: '' })
  })

  it('may have 2,000 files open', async () => {
    // The last of them have numbers that would be ours.
    const { all } = await results('many', { wrapper: ['sh', '-c', 'ulimit -n 2100; exec "$@"', 'sh'] })
    expect(all).toMatchObject({ result: 7, others: false, device: true })
    expect(all.fd).toBeGreaterThan(2000)
  })

  it('may have few files open', async () => {
    const { all } = await results('commands', { within: ['sh', '-c', 'ulimit -n 256; exec "$@"', 'sh'] })
    // dup3 to a number behind the limit fails, and nothing else.
    expect(all).toMatchObject({ fd: 224, device: true, capitals: 7, far: -1 })
  })

  it('fail to open where they may have too few', async () => {
    const { ended, log } = start(['sh', '-c', 'ulimit -n 64; : < /dev/infiniband/uverbs0'])
    expect((await ended).stderr).toContain('Too many open files')
    expect(log()).toContainEqual(expect.stringMatching(/^refused true: open: .*\(ulimit -n 256 or more\).*EMFILE/))
  })

  it('have the limit of open files that the command had', async () => {
    const { ended } = start(['sh', '-c', 'ulimit -Sn'], {
      wrapper: ['sh', '-c', 'ulimit -Sn 300; "$@"; exit $?', 'sh'],
    })
    expect((await ended).stdout).toBe('300\n')
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

  it('may be killed at any moment', async () => {
    const { all, log } = await results('moments')
    expect(all).toEqual({ after: 7 })
    const count = (word: string): number => log.filter((line) => line.startsWith(word)).length
    expect(count('open')).toBeGreaterThan(6)
    expect(count('closed')).toBe(count('open'))
  })

  it.skipIf(!existsSync('/usr/bin/busybox'))('may be static', async () => {
    expect((await start(['busybox', 'cat', '/sys/class/infiniband/rxe0/node_type']).ended).stdout).toBe('1: CA\n')
  })

  it('may be killed, which ends their files', async () => {
    const { says, ended, log } = start(ofProgram('hang'))
    process.kill(Number((await says(/hangs (\d+)/))[1]), 'SIGKILL')
    expect(await ended).toMatchObject({ code: null, signal: 'SIGKILL' })
    expect(log().slice(-2)).toEqual(['closed 1', 'end, slept true'])
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

  it('is ended by a signal that comes before the program has started', async () => {
    const { child, log, ended } = start(['true'], { log: join(folder, 'never.hangs') })
    await expect.poll(log, { interval: 5 }).toContain('opening')
    child.kill('SIGTERM')
    expect(await ended).toMatchObject({ code: null, signal: 'SIGTERM', stderr: '' })
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

  it('has a guardian, which ends its programs if it is killed', async () => {
    const temporary = mkdtempSync(join(folder, 'killed-'))
    // It is known though it has cleared its environment.
    const { child, says, ended } = start(['env', '-i', ...ofProgram('hang')], { temporary })
    const pid = Number((await says(/hangs (\d+)/))[1])
    child.kill('SIGKILL')
    const { stderr } = await ended
    expect(stderr).toContain('the supervisor was killed')
    await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false)
    expect(readdirSync(temporary)).toEqual([])
  })

  it('has a guardian that does not wait for programs which have ended and whom nobody asks for', async () => {
    const { child, says, ended } = start(ofProgram('hang'), { wrapper: ofProgram('keeps') })
    const [launcher, pid] = [await says(/keeps (\d+)/), await says(/hangs (\d+)/)].map((said) => Number(said[1]))
    let said = ''
    child.stderr!.on('data', (chunk: Buffer) => {
      said += chunk.toString()
    })
    process.kill(launcher!, 'SIGKILL')
    try {
      await expect.poll(() => said).toContain('the supervisor was killed')
      expect(readFileSync(`/proc/${pid}/status`, 'latin1')).toContain('State:\tZ')
    } finally {
      child.kill('SIGKILL')
    }
    await ended
  })

  it('cannot be below a filter with a listener', async () => {
    const below = [process.execPath, ...front.execArgv, front.file, join(folder, 'inner'), 'true']
    expect(await start(below).ended).toMatchObject({
      code: 99,
      stderr: expect.stringMatching(/EBUSY.*another seccomp/),
    })
  })
})
