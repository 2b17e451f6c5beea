/** What our servers share: who may call them, and pages as documents. Other folders import from here only. */
export { Connections, serverLimits } from './connections.ts'
export { escapeHtml, type PageParts, pageDocument, pageScript } from './document.ts'
export { Guard, type GuardedRequest, type Rejection, refuse } from './guard.ts'
export { originOf } from './origin.ts'
export { baseStyle } from './style.ts'
export { newToken, pageUrl, Token } from './token.ts'
