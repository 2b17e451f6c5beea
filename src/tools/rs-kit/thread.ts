/** The thread in which a program on rsockets runs: its calls may block, and Ctrl-C is the main thread's. */
import { notify, serve } from '../kit/index.ts'
import type { CommonResult, Run } from './settings.ts'

interface Job<Settings> {
  settings: Settings
  stop: Int32Array
}

/** The last messages of connection management are in flight for so long. */
const lingerMs = 300

/** In the thread: answers `runTool`. */
export function serveTool<Settings>(run: (settings: Settings, run: Run) => Promise<CommonResult>): void {
  serve({
    run: async ({ settings, stop }: Job<Settings>) => {
      const result = await run(settings, { stop, tell: notify })
      await new Promise((resolve) => setTimeout(resolve, lingerMs))
      return result
    },
  })
}
