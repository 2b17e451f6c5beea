/**
 * Classes that can be called without `new`, as those of `node:net` and `node:dgram` can, which are functions: `Socket()`, and
 * `Socket.call(this)` in a constructor of the older kind, which inherits by `util.inherits`.
 */
type Class = new (...args: never[]) => object

/** Object that the next construction fills, instead of a new one. */
let existing: object | undefined

/** Returns the base class of a class that is made callable, in place of `base`, a function of Node's. */
export function fillable<C extends Class>(base: C): C {
  const Base = function (this: object, ...args: unknown[]): object {
    const target = existing
    existing = undefined
    if (target === undefined) return Reflect.construct(base, args, new.target ?? base) as object
    Reflect.apply(base as unknown as () => void, target, args)
    return target
  }
  Base.prototype = base.prototype
  Object.setPrototypeOf(Base, base)
  return Base as unknown as C
}

/** Makes a class that extends the result of `fillable` callable. */
export function callable<C extends Class>(its: C): C {
  const called = new Proxy(its, {
    apply(target, self: unknown, args: never[]): object | undefined {
      if (!(self instanceof target)) return new target(...args)
      existing = self
      try {
        new target(...args)
      } finally {
        existing = undefined
      }
      return undefined
    },
  })
  its.prototype.constructor = called
  return called
}
