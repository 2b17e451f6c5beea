/** Sentences about words and values that are not valid, for messages of errors. Pure. */

export { didYouMean, nearest } from './nearest.ts'
export { expectation, type Issue, issueText, kindsOf, notOneOf, notValid, quoted } from './not-valid.ts'
