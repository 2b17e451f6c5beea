/** `verbena run` of an ordinary user where Yama lets processes read the memory of none but their descendants: in a guest with Debian's kernel. */
import { describe, expect, it } from 'vitest'
import { images, useStage } from './encounter.ts'
import { lacking, serveAndAsk, verbena } from './run-kit.ts'

const nobody = 65_534

describe.skipIf(images === null || lacking.length > 0)('with kernel.yama.ptrace_scope 1', () => {
  const stage = useStage([])

  it("two programs of an ordinary user reach each other's memory", { timeout: 120_000 }, async () => {
    const { guest } = stage()
    await guest.mountHost()
    const lat = 'ib_send_lat -n 100'
    const script = serveAndAsk(lat, `${lat} 127.0.0.1`, 18_515)
    const run = `${process.execPath} ${verbena} run --device shm:yama -- sh /run/programs`
    const setup = `echo 1 > /proc/sys/kernel/yama/ptrace_scope; cat > /host/run/programs << 'END'\n${script}\nEND`
    await guest.text(setup)
    const asUser = `in-host setpriv --reuid ${nobody} --regid ${nobody} --clear-groups --no-new-privs`
    const { code, output } = await guest.run(
      `${asUser} sh -c 'grep -H . /proc/sys/kernel/yama/ptrace_scope; id -u; time ${run}'`,
      110_000,
    )
    expect({ code, output }).toEqual({
      code: 0,
      output: expect.stringMatching(/ptrace_scope:1\n65534\n[\s\S]*^ *2 +100 /m),
    })
    console.log(output)
  })
})
