/** Memory ordering of the processor, and back-off. */

/**
 * x86 keeps stores in order, and loads in order (TSO): there a plain store releases a lock or publishes an entry, and a
 * plain load sees what was written before what it reads. Elsewhere these must be atomic.
 */
export const processorOrders: boolean = process.arch === 'x64' || process.arch === 'ia32'

const sleeper = new Int32Array(new SharedArrayBuffer(4))
/** Blocks this thread, and waits for nothing: for back-off, and where other threads are to run first. */
export function sleepMs(ms: number): void {
  Atomics.wait(sleeper, 0, 0, ms)
}
