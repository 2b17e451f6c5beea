/** What a host lacks is said in a sentence. */
import { describe, expect, it } from 'vitest'
import { openFilesReason, seccompError, traceReason } from '../../../src/run/front/host.ts'

const capable = 'CapEff:\t0000000000080000\n'
const incapable = 'CapEff:\t0000000000000000\n'

describe('ptrace access', () => {
  it.each(['', '0\n', '1\n'])('is there with ptrace_scope %j', (scope) =>
    expect(traceReason(scope, incapable)).toBe(null),
  )
  it('is there with 2 and the capability', () => expect(traceReason('2\n', capable)).toBe(null))
  it('is missing with 2, and said how to get it', () =>
    expect(traceReason('2\n', incapable)).toMatch(/ptrace_scope is 2.*CAP_SYS_PTRACE.*sysctl/))
  it('is missing with 3 for everybody', () => expect(traceReason('3\n', capable)).toMatch(/ptrace_scope is 3/))
})

describe('open files', () => {
  it('are enough', () => expect(openFilesReason(256)).toBe(null))
  it('are too few, and said how to get more', () =>
    expect(openFilesReason(64)).toMatch(/is 64, and .*needs 128: raise it \(ulimit -Hn/))
})

describe('a filter that cannot be installed', () => {
  it('names the other listener', () => expect(seccompError('EBUSY', '').message).toMatch(/another seccomp listener/))
  it('names the kernel', () => expect(seccompError('EINVAL', '').message).toMatch(/Linux 5\.14/))
  it('says anything else as it is', () => expect(seccompError('ENOMEM', 'no room').message).toBe('no room'))
})
