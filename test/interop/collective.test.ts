/** `verbena bench collective`, `collective measure` and programs under the launchers that people have. */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AlgorithmResults, loadResults } from '../../src/report/index.ts'
import { command } from '../built.ts'
import { type Ended, mpich, openMpi, processesOf, type Running, slurmIn, start } from './launchers.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-launchers-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const verbena = [process.execPath, command]
const program = [process.execPath, fileURLToPath(new URL('../../examples/pi.mjs', import.meta.url))]
const measurement = ['--transport', 'RC,multicast', '--mode', 'SEND', '--size', '1', '--repetitions', '10']
const bench = [...verbena, 'bench', 'collective', ...measurement, '--warmup', '1', '--json']
/** Until it is ended. */
const long = ['--collective', 'broadcast,allreduce', '--repetitions', '2000']

interface Document {
  runs: { settings: { transport: string; processes: number }; time: { count: number } }[]
}

/** Rank 0 alone printed, and measured with 1 to n − 1 others. */
function expectAll({ code, stdout, stderr }: Ended, ranks: number): void {
  expect(code, stderr).toBe(0)
  const { runs } = JSON.parse(stdout) as Document
  const expected = ['RC', 'multicast'].flatMap((transport) =>
    Array.from({ length: ranks - 1 }, (_, i) => [transport, i + 1]),
  )
  expect(runs.map(({ settings }) => [settings.transport, settings.processes])).toEqual(expected)
}

/** What run.json in a folder says. */
const saved = (dir: string): AlgorithmResults | null =>
  existsSync(join(dir, 'run.json')) ? (loadResults(dir).results as AlgorithmResults) : null

/** Segments in shared memory. */
const segmentsOf = (job: string): string[] => readdirSync('/dev/shm').filter((name) => name.includes(job))

// More processes than cores start and poll.
const limits = { timeout: 150_000 }
const launchers = [openMpi, mpich, slurmIn(join(folder, 'slurm'))]
describe.each(launchers.map((launcher) => ({ launcher, name: launcher.name })))('$name', limits, ({ launcher }) => {
  describe.skipIf(!launcher.there)('ranks of its job', () => {
    beforeAll(() => launcher.begin())
    afterAll(() => launcher.end())

    const run = (ranks: number, words: readonly string[], env: NodeJS.ProcessEnv = {}): Running => {
      const [first, ...rest] = [...launcher.command(ranks), ...words]
      return start(first!, rest, { ...launcher.env, ...env })
    }
    const out = (name: string): string => join(folder, `${launcher.name} ${name}`)

    /** A measurement that has begun, of which something has been saved. */
    const begun = async (name: string): Promise<Running & { job: string; dir: string }> => {
      const dir = out(name)
      const job = `job-${randomBytes(8).toString('hex')}`
      const words = ['collective', 'measure', ...long, '--device', `shm:${job}`, '--out', dir]
      const running = run(3, [...verbena, ...words], { JOB_OF_TEST: job })
      while (!saved(dir)?.sets.length && running.child.exitCode === null) await delay(20)
      expect([...processesOf(`JOB_OF_TEST=${job}`).keys()].sort()).toEqual([0, 1, 2])
      return { ...running, job, dir }
    }

    const expectOver = async (job: string, dir: string): Promise<void> => {
      while (processesOf(`JOB_OF_TEST=${job}`).size > 0) await delay(20)
      const { complete, sets } = saved(dir)!
      expect([complete, sets.length > 0]).toEqual([false, true])
      // Launchers kill the others, where there is no time to clean up: who looks for devices next does.
      expect((await start(verbena[0]!, [command, 'devices']).ended).code).toBe(0)
      expect(segmentsOf(job)).toEqual([])
    }

    it('bench collective', async () => {
      const ranks = launcher === openMpi ? 8 : 4
      expectAll(await run(ranks, [...bench, '--out', out('bench')]).ended, ranks)
    })

    it('collective measure, and a program with the table that collective tune makes of it', async () => {
      const [results, table, wrong] = [out('results'), out('table.json'), out('wrong.json')]
      const sizes = ['--collective', 'broadcast,allreduce,barrier', '--size', '8,2000', '--repetitions', '10']
      const words = [...verbena, 'collective', 'measure', ...sizes, '--among', '2,3', '--out', results, '--json']
      const { code, stdout, stderr } = await run(3, words).ended
      expect(code, stderr).toBe(0)
      const { runs } = JSON.parse(stdout) as { runs: { settings: { ranks: number }; time: { count: number } }[] }
      expect(new Set(runs.map(({ settings, time }) => `${settings.ranks} ${time.count}`))).toEqual(
        new Set(['2 10', '3 10']),
      )
      expect(saved(results)?.complete).toBe(true)

      const [node, ...args] = [...verbena, 'collective', 'tune', results, '-o', table, '--json']
      const tuned = await start(node!, args).ended
      expect(tuned.code, tuned.stderr).toBe(0)
      expect(JSON.parse(tuned.stdout)).toMatchObject({ points: 2 * (1 + 2 * 2) })

      const used = await run(3, program, { VERBENA_TABLE: table }).ended
      expect(used).toMatchObject({ code: 0, stdout: expect.stringContaining('3.14159265') })
      // It was read: what is no table ends the program.
      const { version, rules } = JSON.parse(readFileSync(table, 'utf8')) as { version: number; rules: unknown[] }
      writeFileSync(wrong, JSON.stringify({ version, rules: [...rules, { collective: 'allreduce', algorithm: 'x' }] }))
      const refused = await run(3, program, { VERBENA_TABLE: wrong }).ended
      expect(refused.code).not.toBe(0)
      expect(refused.stderr).toMatch(/decision table: rule \d+: allreduce has/)
    })

    it.each([0, 1])('rank %i dies: all end, and what was measured is kept', async (rank) => {
      const { ended, job, dir } = await begun(`death ${rank}`)
      process.kill(processesOf(`JOB_OF_TEST=${job}`).get(rank)!, 'SIGKILL')
      expect((await ended).code).not.toBe(0)
      await expectOver(job, dir)
    })

    it('Ctrl-C keeps what was measured', async () => {
      const { child, ended, job, dir } = await begun('interrupted')
      const measured = readdirSync(dir).filter((name) => name.endsWith('.csv')).length
      launcher.interrupt(child)
      const { code, stderr } = await ended
      expect(code).not.toBe(0)
      if (launcher.givesTime) expect(stderr).toMatch(/Stopping; what was measured is being saved/)
      await expectOver(job, dir)
      expect(saved(dir)!.sets.length).toBeGreaterThanOrEqual(measured)
    })

    it('a wrong option is said, and the launcher fails', async () => {
      const { code, stderr } = await run(2, [...bench, '--mode', 'ATOMIC', '--out', out('wrong')]).ended
      expect(code).not.toBe(0)
      expect(stderr).toMatch(/--mode: 'ATOMIC' is not valid/)
    })

    it.runIf(launcher === mpich)('through a shell', async () => {
      const line = [...bench, '--out', out('shell')].map((word) => `'${word}'`).join(' ')
      expectAll(await run(3, ['sh', '-c', `${line}; exit $?`]).ended, 3)
    })
  })
})
