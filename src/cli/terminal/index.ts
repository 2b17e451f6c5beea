/** Functions of the terminal for all commands: output, Ctrl-C, exit codes. It is below the tools, which `main.ts` starts. */
export { exitCodes, exitCodeTexts } from './exit-codes.ts'
export { describeFailure } from './failure.ts'
export { type Interruption, interruptible } from './interrupt.ts'
export { currentRun, endWith, type Io, type OutputStream, runWith } from './io.ts'
export { Lines } from './lines.ts'
export {
  isTerminal,
  note,
  paint,
  print,
  printFailure,
  printJson,
  printPart,
  table,
  terminalWidth,
  wantsColour,
} from './output.ts'
export { endIfClosedPipe, endOnFailedOutput } from './pipe.ts'
export { StatusLine, type StatusStream } from './status-line.ts'
export { packageFolder, version } from './version.ts'
