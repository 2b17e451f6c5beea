/**
 * A hook for the gateway: a dead band. A sample passes if one of the chosen signals has changed by more than `band` since the last one
 * that passed.
 *
 *     verbena gateway hook module -o path=./gateway-hook.mjs -o signals=signal0 -o band=0.5 < log.dat
 *
 * and in a configuration: hooks = ( { type = "module", path = "./gateway-hook.mjs", signals = [ "signal0" ], band = 0.5 } )
 */
export default {
  make(settings, context, { SampleField, SignalType, Verdict, selectedSignals }) {
    const selected = selectedSignals(settings, context.signals, [SignalType.float])
    const band = settings.number('band', 0, 0, Number.POSITIVE_INFINITY)
    const last = new Float64Array(selected.length).fill(Number.NaN)
    return {
      signals: context.signals,
      // Called for each sample, so it allocates nothing. `word` is where the sample's record begins.
      process(samples, word) {
        const values = (word + SampleField.data) / 2
        let changed = false
        for (let i = 0; i < selected.length; i++)
          if (!(Math.abs(samples.f64[values + selected[i]] - last[i]) <= band)) changed = true
        if (!changed) return Verdict.skip
        for (let i = 0; i < selected.length; i++) last[i] = samples.f64[values + selected[i]]
        return Verdict.ok
      },
      restart() {
        last.fill(Number.NaN)
      },
    }
  },
}
