/** Pictures of gateways. */
export { type GraphFormat, graphDot, graphFormats, graphSvg, graphText } from './draw.ts'
export { type GraphModel, graphOf } from './model.ts'
