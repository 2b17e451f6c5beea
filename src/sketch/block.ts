/**
 * Memory of a sketch: one block with typed arrays in it. All state is there, so that a copy of the block is a copy of the sketch, and its
 * bytes are a header followed by the block (bytes.ts).
 */

type Arrays = Float64Array | Float32Array | Uint32Array | Int32Array | Uint16Array | Uint8Array
type Constructor<A extends Arrays> = {
  new (buffer: ArrayBuffer, offset: number, length: number): A
  readonly BYTES_PER_ELEMENT: number
}
/** Arrays and their lengths, those with the widest elements first so that all are aligned. */
export type Plan = readonly (readonly [Constructor<Arrays>, number])[]
type Views<P extends Plan> = { [I in keyof P]: InstanceType<P[I][0]> }

/** Returns the bytes of the arrays, without the padding at the end. */
export function plannedBytes(plan: Plan): number {
  return plan.reduce((sum, [type, length]) => sum + type.BYTES_PER_ELEMENT * length, 0)
}

/** Returns the arrays of a plan, on a block of their length. */
export function views<const P extends Plan>(block: ArrayBuffer, plan: P): Views<P> {
  let at = 0
  return plan.map(([type, length]) => {
    const view = new type(block, at, length)
    at += view.byteLength
    return view
  }) as Views<P>
}
