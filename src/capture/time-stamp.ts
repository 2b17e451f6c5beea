/**
 * Time stamps of pcapng: conversion of a 64-bit count of units since 1970, split into two words, into seconds and nanoseconds.
 * The usual resolutions are computed in doubles, exactly: by long division with a 16-bit digit at a time.
 */
import type { CapturedPacket, InterfaceInfo } from './packet.ts'

export function setTime(packet: CapturedPacket, info: InterfaceInfo, high: number, low: number): void {
  const units = info.unitsPerSecond
  let seconds: number
  let nanoseconds: number
  if (units === 1e6 || units === 1e9) {
    const top = Math.floor(high / units)
    const middle = (high - top * units) * 65536 + (low >>> 16)
    const quotient = Math.floor(middle / units)
    const bottom = (middle - quotient * units) * 65536 + (low & 0xffff)
    const last = Math.floor(bottom / units)
    seconds = top * 0x1_0000_0000 + quotient * 65536 + last
    nanoseconds = (bottom - last * units) * (1e9 / units)
  } else {
    const count = (BigInt(high) << 32n) | BigInt(low)
    const perSecond = BigInt(units)
    seconds = Number(count / perSecond)
    nanoseconds = Number(((count % perSecond) * 1_000_000_000n) / perSecond)
  }
  packet.seconds = seconds + info.offsetSeconds
  packet.nanoseconds = nanoseconds
  packet.hasTime = true
}

/** Returns the units per second of an if_tsresol option: a power of ten, or of two if the top bit is set. */
export function unitsOfResolution(resolution: number): number {
  const exponent = resolution & 0x7f
  return (resolution & 0x80) !== 0 ? 2 ** exponent : Number(`1e${exponent}`)
}

/**
 * Sets the time from the header of an ERF record: units of 2^-32 s since 1970, little-endian. It is finer than that of a pcap file
 * around it; pcapng has any resolution, and there tshark, too, uses the file's. A record without a time keeps that of the file.
 */
export function setErfTime(packet: CapturedPacket): void {
  const { view, offset, length } = packet
  if (length < 8) return
  const seconds = view.getUint32(offset + 4, true)
  if (seconds === 0) return
  // The product has up to 62 bits: the double is off by less than 10^-6 ns.
  const nanoseconds = Math.round((view.getUint32(offset, true) * 1e9) / 2 ** 32)
  packet.seconds = nanoseconds === 1e9 ? seconds + 1 : seconds
  packet.nanoseconds = nanoseconds === 1e9 ? 0 : nanoseconds
  packet.hasTime = true
}
