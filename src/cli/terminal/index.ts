/** What every command needs of the terminal: output, Ctrl-C, exit codes. It is below the tools, which `main.ts` starts. */
export { describeFailure, exitCodes } from './failure.ts'
export { type Interruption, interruptible } from './interrupt.ts'
export { Lines } from './lines.ts'
export { note, paint, print, table, terminalWidth, wantsColour } from './output.ts'
export { endIfClosedPipe, endOnFailedOutput } from './pipe.ts'
export { version } from './version.ts'
