/** `verbena run` of an ordinary user where Yama lets a process read the memory of its descendants alone: in a guest with Debian's kernel. */
import { describe, expect, it } from 'vitest'
import { images, useStage } from './encounter.ts'
import { lacking, serveAndAsk, verbena } from './run-kit.ts'

const nobody = 65_534
const run = `${process.execPath} ${verbena} run --device shm:yama --`
// With events: the guest has one processor.
const program = 'ib_send_lat -e -n 20'

describe.skipIf(images === null || lacking.length > 0)('with kernel.yama.ptrace_scope 1', () => {
  const stage = useStage([])

  it('two runs of an ordinary user meet', { timeout: 150_000 }, async () => {
    const { guest } = stage()
    await guest.mountHost()
    await guest.text(`
      echo 1 > /proc/sys/kernel/yama/ptrace_scope
      cat > /host/run/both << 'END'
        cat /proc/sys/kernel/yama/ptrace_scope
        id -u
        ${serveAndAsk(`${run} ${program}`, `${run} ${program} 127.0.0.1`, 18_515)}
END`)
    const asUser = `in-host setpriv --reuid ${nobody} --regid ${nobody} --clear-groups --no-new-privs`
    const { code, output } = await guest.run(`${asUser} sh /run/both`, 140_000)
    expect(code, output).toBe(0)
    expect(output).toMatch(/^1\n65534\n/)
    expect(output.match(/^ *2 +20 /gm)).toHaveLength(2)
  })
})
