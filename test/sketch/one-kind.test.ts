/** Sketches by their class: the same as those by the name of their kind, and alone in a bundle. */
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { describe, expect, it } from 'vitest'
import * as all from '../../src/sketch/index.ts'

const { createSketch, sketchFromBytes, sketchKinds, CountMin, SpaceSaving } = all

interface KindClass {
  name: string
  create(options: object): all.Sketch
  fromBytes(bytes: Uint8Array): all.Sketch
}

const common = { bytes: 100_000, keyBytes: 8, seed: 1, coins: 1 }
/** `sketchvisor` is two sketches, of which one is chosen by name. */
const classes = Object.values(all).filter(
  (one): one is typeof one & KindClass => typeof one === 'function' && Object.hasOwn(one, 'fromBytes'),
) as unknown as KindClass[]
const optionsOf = (kind: string): object => ({ ...common, ...(kind === 'spread' && { sourceBytes: 4 }) })

describe('a sketch of a class', () => {
  const made = sketchKinds.filter((kind) => kind !== 'sketchvisor')

  it('is that of its kind, also from its bytes', () => {
    const found: string[] = []
    for (const one of classes) {
      const sketch = one.create(optionsOf(one.name === 'SpreadSketch' ? 'spread' : ''))
      const named = createSketch(sketch.kind as 'coco', optionsOf(sketch.kind) as typeof common)
      const [own, theirs] = [sketch, named].map((made) => Buffer.from(made.toBytes()))
      expect([own!.equals(theirs!), theirs!.equals(one.fromBytes(own!).toBytes())]).toEqual([true, true])
      found.push(sketch.kind)
    }
    expect([...found, CountMin.createConservative(common).kind].sort()).toEqual([...made].sort())
    expect(CountMin.fromBytes(createSketch('conservative', common).toBytes()).kind).toBe('conservative')
  })

  it('says what is wrong with its options and its bytes', () => {
    expect(() => SpaceSaving.create({ byte: 1000, keyBytes: 4 } as never)).toThrow("bytes: missing. Is 'byte' meant")
    expect(() => SpaceSaving.create({ bytes: 1000, keyBytes: 0 })).toThrow('keyBytes: 0')
    expect(() => SpaceSaving.create({ bytes: 20, keyBytes: 4 })).toThrow('bytes: 20 are too few')
    const bytes = all.Kll.create({ bytes: 4096, seed: 1 }).toBytes()
    expect(() => SpaceSaving.fromBytes(bytes)).toThrow('the bytes are of kind kll, not space-saving')
    expect(() => CountMin.fromBytes(bytes)).toThrow('of kind kll, not count-min or conservative')
    bytes[30]! ^= 1
    expect(() => all.Kll.fromBytes(bytes)).toThrow('the checksum is wrong')
    expect(sketchFromBytes(SpaceSaving.create(common).toBytes(), 'space-saving')).toBeInstanceOf(SpaceSaving)
  })

  it('is alone in a bundle of the package', async () => {
    const entry = fileURLToPath(new URL('../../dist/sketch.js', import.meta.url))
    const bundled = async (name: string): Promise<number> => {
      const code = `import { ${name} } from ${JSON.stringify(entry)}; globalThis.made = ${name}`
      const build = await rolldown({
        input: 'entry',
        plugins: [
          {
            name: 'entry',
            resolveId: (id) => (id === 'entry' ? id : null),
            load: (id) => (id === 'entry' ? code : null),
          },
        ],
      })
      const { output } = await build.generate({ minify: true })
      await build.close()
      return output[0].code.length
    }
    const sizes = await Promise.all(classes.map(async ({ name }) => [name, await bundled(name)] as const))
    expect(sizes.filter(([, size]) => size > 23_000)).toEqual([])
    // The other way brings all kinds.
    expect(await bundled('createSketch')).toBeGreaterThan(90_000)
  })
})
