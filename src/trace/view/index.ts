/** Capture as the page of `verbena trace page` presents it, without the page: an index of packets, diagrams, filters. Pure. */
export { type CaptureBytes, captureBytes, type ReadingOptions } from './bytes.ts'
export { CaptureView, type Tally } from './capture-view.ts'
export { type Level, levelFor, levelsOf } from './levels.ts'
export type {
  Ask,
  DiagramInfo,
  DiagramKind,
  DiagramName,
  FromPage,
  FromWorker,
  PacketDetail,
  PacketLine,
  RequestName,
  Requests,
  Spot,
  Summary,
} from './protocol.ts'
export { extentOf, nearest, type Picture, pictureOf, type Window } from './raster.ts'
export { latenciesOf, latencyStep, type Points, type Sequence, sequenceOf } from './sequence.ts'
export { Session, type SessionOptions } from './session.ts'
export { Shape, shapeCount, shapeNames } from './shape.ts'
