/** Returns the first slots of groups of `batch`; the last group may be smaller. */
export function groupsOf(slots: number, batch: number): Int32Array {
  const count = Math.ceil(slots / batch)
  return Int32Array.from({ length: count + 1 }, (_, g) => Math.min(slots, g * batch))
}
