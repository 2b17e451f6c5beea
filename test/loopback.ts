/** Addresses of this test file alone: files run side by side, and two devices cannot have the same address. */
const block = (process.pid % 60_000) + 256

/** `roce:127.x.y.n`, n from 1. */
export function loopbackDevice(n: number): string {
  return `roce:${loopbackAddress(n)}`
}

export function loopbackAddress(n: number): string {
  return `127.${block >> 8}.${block & 255}.${n}`
}
