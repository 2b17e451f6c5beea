export { pingPongCommand } from './command.ts'
