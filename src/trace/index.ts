/** Looking at RDMA traffic in captures: check, show, info. Other folders import from here only. */
export { type CheckOptions, type CheckResult, checkCapture, longestList } from './check.ts'
export { Dissection, dissect, IcrcState, Kind, kindNames } from './dissect.ts'
export { Problem, problemNames, problemRules, problemTexts } from './problems.ts'
