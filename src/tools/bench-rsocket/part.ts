/** Parts of a buffer for calls that take one: most calls use the same part as the call before. */
export class Part {
  private readonly whole: Uint8Array
  private last: Uint8Array

  constructor(whole: Uint8Array) {
    this.whole = whole
    this.last = whole
  }

  of(at: number, length: number): Uint8Array {
    const { last } = this
    if (last.length === length && last.byteOffset === this.whole.byteOffset + at) return last
    this.last = this.whole.subarray(at, at + length)
    return this.last
  }
}
