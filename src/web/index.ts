/** Parts common to Verbena's servers: access to them, and pages as documents. Other folders import from here only. */
export { escapeHtml, type PageParts, pageDocument, pageScript } from './document.ts'
export { Guard, type GuardedRequest, type Rejection } from './guard.ts'
export { baseStyle } from './style.ts'
export { TlsError } from './tls-error.ts'
export { newToken, pageUrl, Token } from './token.ts'
