/** Code that the tools share: options and their errors, threads, and the connection between two processes of one run. */
export {
  addressVector,
  gidFromHex,
  gidHex,
  gidText,
  isZero,
  type LocalPort,
  localPort,
} from './address.ts'
export { openInBrowser, wantsBrowser } from './browser.ts'
export { callThread } from './call-thread.ts'
export { choiceOption } from './choice-option.ts'
export { type CmAddressOfServer, CmEnd, type CmPeer, type CmWishes } from './cm-connect.ts'
export {
  addCommonOptions,
  addDeviceOption,
  addGidOption,
  addRunOptions,
  addSynonym,
  type CommonOptions,
  commonSettings,
  parseGidIndex,
  type RunOptions,
  runSettings,
} from './common-options.ts'
export { pinApart, unpin } from './cores.ts'
export { apart, deviceVariable, meetingPlace, openAsked, openNamed } from './device.ts'
export { fullGidText, hexGuid } from './hex.ts'
export { hostAddress } from './host-address.ts'
export { isLoopback, type Listening, listenAddress } from './listening.ts'
export { type ErrorMessage, expectMessage, receiveMessage, sayMessage } from './messages.ts'
export { integer, oneOf, parseInteger, parseNumber } from './option.ts'
export { notify, Peer, PeerError, serve } from './peer.ts'
export { Peers } from './peers.ts'
export { serveScrapes } from './scrapes.ts'
export {
  fileOf,
  type ServerToken,
  type ServerTokenOptions,
  scrapesText,
  serverToken,
  tokenIn,
} from './server-token.ts'
export { addSubcommands } from './subcommands.ts'
export { UsageError, wrongValue } from './usage.ts'
export { connectTo, defaultPort, EndError, listenOnce, quoted, Wire } from './wire.ts'
