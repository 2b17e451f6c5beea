export { configure } from './command.ts'
