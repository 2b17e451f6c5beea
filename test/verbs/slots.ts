/** Makes objects until one has the record that another had before; records are used in turn. */
export function withSlot<T extends { slot: number; close(): void }>(slot: number, make: () => T): T {
  for (let tries = 0; tries < 1000; tries++) {
    const made = make()
    if (made.slot === slot) return made
    made.close()
  }
  throw new Error(`slot ${slot} does not come back`)
}
