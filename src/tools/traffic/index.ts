/** Entry module of the command; see command.ts. */
export { configure } from './command.ts'
