/** Echo throughput: `verbena bench throughput`. */
export { configure } from './command.ts'
