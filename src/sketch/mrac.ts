/**
 * Distribution of flow sizes from a row of counters, each the sum of the flows that hash to it (Kumar, Sung, Xu and Wang, "Data streaming
 * algorithms for efficient and accurate estimation of flow size distribution", SIGMETRICS 2004: MRAC with expectation maximization).
 *
 * With n_j flows of size j and m counters, the flows of size j in one counter are Poisson with mean λ_j = n_j / m. A step replaces n_j by
 * its expectation under the counters that were seen, which never makes their likelihood smaller (Dempster, Laird and Rubin 1977); there is
 * no bound on the error of the result.
 *
 * Where we differ: the paper sums over the ways to split a value into few flows. All ways are summed here, in closed form:
 * the value of a counter is compound Poisson, its probabilities p follow Panjer's recursion (ASTIN Bulletin 12, 1981)
 * v p(v) = Σ j λ_j p(v − j), and the expectation of the flows of size j in a counter of value v is λ_j p(v − j) / p(v).
 */

const mostSteps = 60
/** Share of the flows: steps end when they move fewer flows than this. */
const settled = 1e-4

/** Returns n_j, by size. `counters[v]`: number of counters of `width` that have the value v; flows larger than the array are not in it. */
export function expectedFlows(counters: Float64Array, width: number): Float64Array {
  const size = counters.length
  let flows = counters.slice()
  flows[0] = 0
  const p = new Float64Array(size)
  for (let step = 0; step < mostSteps; step++) {
    const all = flows.reduce((sum, value) => sum + value, 0)
    if (all === 0) break
    probabilities(flows, width, all, p)
    const next = new Float64Array(size)
    for (let v = 1; v < size; v++) {
      if (counters[v] === 0 || p[v] === 0) continue
      const share = counters[v]! / (p[v]! * width)
      for (let j = 1; j <= v; j++) next[j]! += flows[j]! * p[v - j]! * share
    }
    let moved = 0
    for (let j = 1; j < size; j++) moved += Math.abs(next[j]! - flows[j]!)
    flows = next
    if (moved < settled * all) break
  }
  return flows
}

/** Computes the probabilities of the values of a counter. */
function probabilities(flows: Float64Array, width: number, all: number, p: Float64Array): void {
  // At a load at which e^−λ would be 0, only ratios matter.
  p[0] = Math.max(Math.exp(-all / width), 1e-290)
  for (let v = 1; v < p.length; v++) {
    let sum = 0
    for (let j = 1; j <= v; j++) sum += j * flows[j]! * p[v - j]!
    p[v] = sum / (width * v)
  }
}
