import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { callNumber } from '../../../src/memory/native/index.ts'
import { requireLibc } from '../../../src/memory/native/libc.ts'

import { canRun, folder, ofProgram, results, start } from './front-kit.ts'

describe.skipIf(!canRun)('programs below a front', () => {
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

describe.skipIf(!canRun)('the command', () => {
  it('is ended by a signal that comes before the program has started', async () => {
    const { child, log, ended } = start(['true'], { log: join(folder, 'never.hangs') })
    await expect.poll(log, { interval: 5 }).toContain('opening')
    child.kill('SIGTERM')
    expect(await ended).toMatchObject({ code: null, signal: 'SIGTERM', stderr: '' })
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
})
