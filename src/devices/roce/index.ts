export { roceDriver } from './device.ts'
