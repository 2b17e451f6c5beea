/** Shape of a packet in the picture of its connection: one small number for each, kept in the index. */
import { OpBit } from '../../wire/index.ts'
import { type Dissection, IcrcState, Kind, Mark, Service, type Verdict } from '../index.ts'

/** Shapes in the order in which they are drawn: rare and important ones come last, on top. */
export const Shape = {
  None: 0,
  Request: 1,
  ReadRequest: 2,
  ReadResponse: 3,
  Ack: 4,
  Repeat: 5,
  Late: 6,
  Retransmission: 7,
  Duplicate: 8,
  Cnp: 9,
  RnrNak: 10,
  Nak: 11,
  Bad: 12,
  BadResponse: 13,
} as const
export type ShapeValue = (typeof Shape)[keyof typeof Shape]

export const shapeCount = 14

/** Name of each shape, in the legend. */
export const shapeNames: readonly string[] = [
  '',
  'request',
  'READ request',
  'READ or atomic response',
  'ACK',
  'response again',
  'late: fills a gap',
  'retransmission',
  'duplicate: was acknowledged',
  'CNP',
  'RNR NAK',
  'NAK',
  'request with a bad ICRC, or malformed',
  'response with a bad ICRC, or malformed',
]

export function shapeOf(d: Dissection, v: Verdict): ShapeValue {
  const { flow, marks } = v
  if (d.kind === Kind.Other || flow === undefined || (marks & Mark.Copy) !== 0) return Shape.None
  const isResponse = flow.service !== Service.UD && (d.bits & OpBit.Response) !== 0
  if (d.problems !== 0 || d.icrc === IcrcState.Invalid) return isResponse ? Shape.BadResponse : Shape.Bad
  if ((marks & Mark.Cnp) !== 0) return Shape.Cnp
  if ((marks & Mark.Nak) !== 0) return Shape.Nak
  if ((marks & Mark.RnrNak) !== 0) return Shape.RnrNak
  if (isResponse) {
    if ((marks & Mark.Repeat) !== 0) return Shape.Repeat
    return (d.bits & OpBit.Ack) !== 0 ? Shape.Ack : Shape.ReadResponse
  }
  if ((marks & Mark.Duplicate) !== 0) return Shape.Duplicate
  if ((marks & Mark.Retransmission) !== 0) return Shape.Retransmission
  if ((marks & Mark.Late) !== 0) return Shape.Late
  return (d.bits & OpBit.ReadRequest) !== 0 ? Shape.ReadRequest : Shape.Request
}

/** True if the other end sends it, in response to the requests of this one, or because of them. */
export function isAnswer(shape: ShapeValue): boolean {
  return (
    shape === Shape.ReadResponse ||
    shape === Shape.Ack ||
    shape === Shape.Repeat ||
    shape === Shape.Cnp ||
    shape === Shape.RnrNak ||
    shape === Shape.Nak ||
    shape === Shape.BadResponse
  )
}
