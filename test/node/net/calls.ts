/** Looks at calls of methods of an object, as they are made; what is returned ends that. */
export function watchCalls(
  object: object,
  names: readonly string[],
  before: (name: string, args: readonly unknown[]) => void,
): () => void {
  for (const name of names) {
    const real = (Reflect.get(object, name) as (...args: unknown[]) => unknown).bind(object)
    const value = (...args: unknown[]): unknown => {
      before(name, args)
      return real(...args)
    }
    Object.defineProperty(object, name, { configurable: true, value })
  }
  return () => {
    for (const name of names) Reflect.deleteProperty(object, name)
  }
}
