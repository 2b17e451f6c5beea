/** The cases of the conformance list that no device of Verbena has to pass, each with its reason. */
export const notApplicable: readonly { number: number; reason: string }[] = [
  { number: 120, reason: 'Node.js has no fork(): a child process starts anew and opens its own device' },
  {
    number: 121,
    reason:
      'the memory that a device reaches is always mapped: there is nothing to page in on demand, and no advise_mr',
  },
  { number: 124, reason: 'no XRC queue pairs: the API has RC, UC and UD' },
  { number: 125, reason: 'no parent or thread domains: locks of queues are chosen by the device' },
]
