export { noFault, ProcessBytes, sourceFault, stagedBytes, tailBytes, targetFault } from './process-bytes.ts'
