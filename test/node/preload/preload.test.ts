/** Programs that know nothing of RDMA, as child processes under the preload, and what its rules say. */
import { describe, expect, it } from 'vitest'
import { overFake, plainOutput, run } from '../children.ts'
import { inOneProcess } from './one-process.ts'

const notSent = 'TypeError ERR_INVALID_HANDLE_TYPE'
// More in packages.slow.test.ts.
inOneProcess(['echo.cjs', 'reset.mjs', 'http.cjs'])

describe('where ports are taken, or the device', () => {
  it('servers and clients tell what they tell without the preload, and as often', async () => {
    const { out, err, code } = await run(['events.mjs'], { ...overFake, env: { VERBENA_PRELOAD: '127.0.0.0/8' } })
    expect(out).toEqual(await plainOutput('events.mjs'))
    expect(code).toBe(0)
    const listens = err.filter((line) => line.startsWith('verbena: listen'))
    expect(listens.filter((line) => /listen 127\.0\.0\.(1|77):\d+: RDMA and TCP/.test(line)).length).toBeGreaterThan(1)
    // The device of that address is another process's: no port of it could be had.
    expect(listens).toContainEqual(
      expect.stringMatching(/listen 127\.0\.0\.78:\d+: TCP alone, because .*openDevice.*UDP port 4791/),
    )
  })
})

describe('at the edges', () => {
  it('sockets tell what they tell without the preload', async () => {
    const { out, err, code } = await run(['edges.mjs'], { ...overFake, env: { VERBENA_PRELOAD: '127.0.0.1' } })
    expect(out).toEqual(await plainOutput('edges.mjs'))
    expect(code).toBe(0)
    // TCP follows where nobody listens, or the local port is taken, and for that connection alone.
    const overTcp = err.filter((line) => line.startsWith('verbena: connect') && !line.includes(': RDMA'))
    expect(overTcp.filter((line) => !/: TCP, because (connect ECONNREFUSED|bind EADDRINUSE) /.test(line))).toEqual([])
    expect(overTcp).toHaveLength(3)
    expect(err.filter((line) => /connect .*: RDMA \(/.test(line))).toHaveLength(17)
  })
})

describe('a peer that does not answer over RDMA', () => {
  const rules = 'connect *, listen 127.0.80.0/24 rdma-only'

  it('is reached over TCP by the first connection, and one that answers late over RDMA', async () => {
    const env = { VERBENA_PRELOAD: rules, VERBENA_PRELOAD_TIMEOUT_MS: '50' }
    const { out, err, code } = await run(['waiting.mjs'], { ...overFake, env })
    expect(out).toEqual(await plainOutput('waiting.mjs'))
    expect(code).toBe(0)
    const connects = err.filter((line) => line.startsWith('verbena: connect'))
    const silent = connects.filter((line) => / TCP, because nothing answered over RDMA in \d+ ms/.test(line))
    const late = connects.filter((line) => line.includes(': RDMA ('))
    // Eight clients and five at once. One is reset and one destroyed before anything is decided; the log names these where that took long.
    const givenUp = connects.filter((line) => line.includes(': given up after'))
    expect([silent.length, late.length]).toEqual([12, 12])
    const others = connects.filter((line) => !silent.includes(line) && !late.includes(line) && !givenUp.includes(line))
    expect(others.length, others.join('\n')).toBeLessThanOrEqual(2)
    expect(givenUp.length).toBeLessThanOrEqual(4)
  })

  it('is left alone after a program has given up, and the log says so', async () => {
    const { out, err } = await run(['impatient.mjs'], {
      ...overFake,
      env: { VERBENA_PRELOAD: 'connect *', VERBENA_PRELOAD_TIMEOUT_MS: '60000' },
    })
    expect(out).toEqual(['given up', 'reached', 'reached'])
    expect(err).toEqual([
      expect.stringMatching(/connect 127\.0\.79\.1:\d+: given up after \d+ ms without an answer \(connect \*\)$/),
      expect.stringMatching(/: TCP, because it did not answer over RDMA \d+\.\d s ago \(connect \*\)$/),
      expect.stringMatching(/: TCP, because it did not answer over RDMA \d+\.\d s ago \(connect \*\)$/),
    ])
  })
})

it('the channel verbena:net:fallback says which connections go over TCP, and why', async () => {
  const env = { VERBENA_PRELOAD: 'connect *', VERBENA_PRELOAD_TIMEOUT_MS: '50' }
  const { out, code } = await run(['fallback.mjs'], { ...overFake, env })
  expect(code).toBe(0)
  expect(out).toEqual([
    expect.stringMatching(/^127\.0\.0\.1 true connect \* failed: connect ECONNREFUSED /),
    'reached',
    '127.0.79.1 true connect * silent: nothing answered over RDMA in N ms',
    'reached',
    '127.0.79.1 true connect * silent-before: it did not answer over RDMA N s ago',
    'reached',
  ])
})

describe('what cannot be sent to another process', () => {
  it.each([
    ['127.0.0.1', `a socket ${notSent}`, 'a server sent', 'the child server true'],
    ['127.0.0.1 rdma-only', `a socket ${notSent}`, `a server ${notSent}`],
    ['connect 127.0.0.1', 'a socket sent', 'a server sent', 'the child socket true, server true'],
  ])('under the rule %s', async (rule, socket, server, ...child) => {
    const { out, code } = await run(['sending.cjs'], { ...overFake, env: { VERBENA_PRELOAD: rule } })
    expect(code).toBe(0)
    expect(out).toEqual([socket, server, `a date ${notSent}`, ...child])
  })
})

describe('what the preload does not take', () => {
  it('leaves addresses without a rule on TCP', async () => {
    const { out, err, code } = await run(['echo.cjs'], { ...overFake, env: { VERBENA_PRELOAD: '10.0.0.0/8' } })
    expect(code).toBe(0)
    expect(out).toContain('8 MiB true 8388608 8388608')
    expect(err).toEqual([])
  })

  it('says so when it has no rules, and leaves all on TCP', async () => {
    const { out, err, code } = await run(['echo.cjs'], { ...overFake, env: {} })
    expect(code).toBe(0)
    expect(out).toContain('8 MiB true 8388608 8388608')
    expect(err).toEqual([expect.stringContaining('VERBENA_PRELOAD=10.0.0.0/8:*')])
  })

  it('ends with a line where a rule is wrong', async () => {
    const { err, code } = await run(['echo.cjs'], { ...overFake, env: { VERBENA_PRELOAD: 'somewhere:80' } })
    expect(code).toBe(1)
    expect(err).toEqual([expect.stringMatching(/^verbena: VERBENA_PRELOAD: the rule "somewhere:80" has no address/)])
  })

  it('keeps a program to what is its own in the file', async () => {
    const { err } = await run(['echo.cjs'], { ...overFake, env: { VERBENA_PRELOAD: 'program=other* *' } })
    expect(err).toEqual([])
  })
})

describe('falling back to TCP', () => {
  it('where nobody listens over RDMA', async () => {
    const { out, err } = await run(['echo.cjs'], { ...overFake, env: { VERBENA_PRELOAD: 'connect *' } })
    expect(out).toEqual(await plainOutput('echo.cjs'))
    expect(err.filter((line) => !/: TCP, because connect ECONNREFUSED/.test(line))).toEqual([])
  })

  it('of a socket that is reset before it is connected', async () => {
    const { out } = await run(['reset.mjs'], { ...overFake, env: { VERBENA_PRELOAD: 'connect *' } })
    expect(out).toEqual(await plainOutput('reset.mjs'))
  })

  it('with TLS', async () => {
    const { out, err } = await run(['https.mjs'], { ...overFake, env: { VERBENA_PRELOAD: 'connect *' } })
    expect(out).toEqual(await plainOutput('https.mjs'))
    expect(err.filter((line) => !/: TCP, because connect ECONNREFUSED/.test(line))).toEqual([])
  })

  it('not where it is not allowed', async () => {
    const env = { VERBENA_PRELOAD: 'connect *', VERBENA_PRELOAD_FALLBACK: 'none' }
    const { out, err, code } = await run(['refused.mjs'], { ...overFake, env })
    expect(code).toBe(0)
    expect(out).toEqual(['ECONNREFUSED connect'])
    expect(err).toEqual([expect.stringMatching(/and no TCP \(connect \*\)$/)])
  })

  it('a server over RDMA alone is not reached over TCP', async () => {
    const { out, err } = await run(['refused.mjs'], { ...overFake, env: { VERBENA_PRELOAD: 'listen * rdma-only' } })
    expect(out).toEqual(['ECONNREFUSED connect'])
    expect(err).toEqual([expect.stringMatching(/^verbena: listen 127\.0\.0\.1:\d+: RDMA \(/)])
  })
})
