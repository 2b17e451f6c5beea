/** The device in shared memory: `shm0`, `shm1`, `shm:NAME`. */
export { shmDriver } from './driver.ts'
