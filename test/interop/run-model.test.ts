/** Random programs of verbs that an unmodified program executes below `verbena run`, against the model that those of a device agree with. */
import { existsSync } from 'node:fs'
import fc from 'fast-check'
import { afterAll, describe, test } from 'vitest'
import { holds } from '../property.ts'
import { Harness } from '../verbs-model/harness.ts'
import type { TypeName } from '../verbs-model/model.ts'
import { configs, programs, type Step } from '../verbs-model/steps.ts'
import { drivenSetup, VerbsDriver } from './driven-verbs.ts'
import { has, lacking as programsLack } from './run-kit.ts'

const lacking = [...programsLack]
if (!has('gcc') || !existsSync('/usr/include/infiniband/verbs.h')) lacking.push("gcc and Debian's libibverbs-dev")
if (lacking.length > 0) console.warn(`skipped: random programs under \`verbena run\` need ${lacking.join(', ')}`)

/** The local ACK timeout, encoded: 67 ms, eight times. */
const busyTimeout = 14

/** The provider refuses an atomic operation that is not aligned, before anybody learns of it. */
const withoutRefused = (program: Step[]): Step[] =>
  program.map((step) =>
    step.kind === 'send'
      ? {
          ...step,
          items: step.items.map((item) => ({ ...item, problem: item.problem === 'align' ? 'none' : item.problem })),
        }
      : step,
  )

describe.skipIf(lacking.length > 0)('random programs of verbs of an unmodified program agree with the model', () => {
  let driver: VerbsDriver | null = null
  afterAll(async () => await driver?.close())

  const agrees = (title: string, types: readonly TypeName[], runs: number): void =>
    test(title, async () => {
      driver ??= new VerbsDriver(`shm:run-model-${process.pid}`)
      const driven = driver
      await holds(
        fc.asyncProperty(fc.tuple(configs(types), programs.map(withoutRefused)), async ([config, program]) => {
          try {
            await new Harness(drivenSetup(driven), config, false, true, busyTimeout).run(program)
          } finally {
            driven.ask('close')
          }
        }),
        runs,
        250 * runs,
      )
    })
  agrees('RC', ['RC'], 60)
  agrees('UC and UD', ['UC', 'UD'], 60)
})
