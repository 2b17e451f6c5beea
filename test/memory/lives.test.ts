import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import {
  LifePipes,
  Lives,
  nativeAvailable,
  nativeReason,
  pageBytes,
  Segment,
  segmentFilePrefix,
} from '../../src/memory/index.ts'
import { Attachment } from '../../src/memory/segment-layout.ts'
import { startable } from '../entries.ts'
import { withoutDescriptors } from './no-descriptors.ts'

describe.skipIf(nativeAvailable)(`lives of processes: ${nativeReason}`, () => {
  it.skip('needs the native layer', () => {})
})

describe.skipIf(!nativeAvailable)('lives of processes', () => {
  const name = `lives-${process.pid}`
  const options = { staticBytes: pageBytes, sizeBytes: 4 << 20 }
  const segment = Segment.named(name, options)
  const children: ChildProcess[] = []
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL')
    rmSync(`/dev/shm/${segmentFilePrefix}${name}`, { force: true })
  })

  async function start(how: 'follows' | 'attaches' = 'follows'): Promise<ChildProcess> {
    const { file, execArgv } = startable(new URL('./life.process.ts', import.meta.url))
    const child = fork(file, [name, `${options.staticBytes}`, how], { execArgv })
    children.push(child)
    await once(child, 'message')
    return child
  }

  it('the end of a process is told, not looked for, and a new one rings', async () => {
    let told = 0
    const dead: number[][] = []
    let heard = (): void => {}
    let rung = (): void => {}
    const lives = new Lives(
      segment,
      'loop',
      () => {
        told++
        dead.push(segment.deadAttachments())
        heard()
      },
      () => rung(),
    )
    expect(lives.watch()).toBe(true)
    const { begun } = lives
    const newOne = new Promise<void>((resolve) => {
      rung = () => (lives.begun === begun + 2 ? resolve() : undefined)
    })
    const child = await start()
    await newOne
    expect([lives.watch(), told]).toEqual([true, 0])
    const end = new Promise<void>((resolve) => {
      heard = () => (dead.at(-1)!.length > 0 ? resolve() : undefined)
    })
    child.kill('SIGKILL')
    await end
    for (const use of dead.at(-1)!) segment.release(segment.claim(use))
    expect(lives.watch()).toBe(true)
  })

  it('one that attaches rings, too: until it can be followed it has to be looked for', async () => {
    let rung = (): void => {}
    const lives = new Lives(
      segment,
      'loop',
      () => {},
      () => rung(),
    )
    expect(lives.watch()).toBe(true)
    const { begun } = lives
    const newOne = new Promise<void>((resolve) => {
      rung = () => (lives.begun > begun ? resolve() : undefined)
    })
    const child = await start('attaches')
    await newOne
    expect(lives.watch()).toBe(false)
    child.kill('SIGKILL')
    await once(child, 'exit')
    for (const use of segment.deadAttachments()) segment.release(segment.claim(use))
    expect(lives.watch()).toBe(true)
  })

  it('one that begins while there are no descriptors is followed as soon as there are', async () => {
    const child = await start()
    const lives = new Lives(
      segment,
      'loop',
      () => {},
      () => {},
    )
    const pipes = new LifePipes(segment)
    withoutDescriptors(() => expect([lives.watch(), pipes.follow()]).toEqual([false, false]))
    expect([lives.watch(), pipes.follow()]).toEqual([true, true])
    pipes.close()
    child.kill('SIGKILL')
    await once(child, 'exit')
    for (const use of segment.deadAttachments()) segment.release(segment.claim(use))
  })

  it('one whose pipe cannot be reached has to be looked for', async () => {
    const child = await start()
    const lives = new Lives(
      segment,
      'loop',
      () => {},
      () => {},
    )
    // As if the descriptor were another file's.
    const { f64, i32 } = segment
    const record = [...Array(64).keys()]
      .map((id) => (4096 + id * 128) / 4)
      .find((a) => i32[a]! > 0 && i32[a + 1] === child.pid)!
    f64[(record + Attachment.lifeInode) >> 1]!++
    expect(lives.watch()).toBe(false)
  })
})
