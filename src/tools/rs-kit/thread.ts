/** The thread in which a program on rsockets runs: its calls may block, while the main thread handles Ctrl-C. */
import { notify, serve } from '../kit/index.ts'
import type { CommonResult, Run } from './settings.ts'

interface Job<Settings> {
  settings: Settings
  stop: Int32Array
}

/** Milliseconds for which the last messages of connection management are in flight. */
const lingerMs = 300

/** Serves `runTool`, in the thread. */
export function serveTool<Settings>(run: (settings: Settings, run: Run) => Promise<CommonResult>): void {
  serve({
    run: async ({ settings, stop }: Job<Settings>) => {
      const result = await run(settings, { stop, show: notify })
      await new Promise((resolve) => setTimeout(resolve, lingerMs))
      return result
    },
  })
}
