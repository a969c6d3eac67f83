/** Lists, ping and errors of the Platform API (sections 2.5, 2.6, 7 and 8 of the specification). */

import type { Static } from 'typebox';
import { objectShape, Type } from './shape.ts';

export const listEnvelope = objectShape('List', {
  object: Type.Literal('list'),
  limit: Type.Integer({ description: 'Effective page size after clamping' }),
  offset: Type.Integer({ description: 'Effective starting index after clamping' }),
  has_more: Type.Boolean({ description: 'True when more items exist beyond this page' }),
  data: Type.Array(Type.Object({ object: Type.String(), id: Type.String() })),
  total_count: Type.Optional(Type.Integer({ description: 'Only with expand=total_count' })),
});
export type ListEnvelope = Static<typeof listEnvelope.schema>;

export const pingRequest = objectShape('PingRequest', {
  timeout_nanos: Type.Integer({ description: 'Nanoseconds to wait; at most 10 seconds' }),
});
export type PingRequest = Static<typeof pingRequest.schema>;

/** `round_trip_nanos` is absent if no device answered. */
export const pingResponse = objectShape('PingResponse', {
  code: Type.String({ description: 'success, or another outcome the specification does not show' }),
  round_trip_nanos: Type.Optional(Type.Integer({ minimum: 0 })),
});

/** Error body of published implementations; section 7 of the specification shows none. */
export const errorBody = objectShape('Error', {
  error: Type.Object({
    code: Type.String(),
    params: Type.Record(Type.String(), Type.Unknown()),
    message: Type.String(),
  }),
});
export type ErrorBody = Static<typeof errorBody.schema>;

/** The specification states no minimum `limit`; 1 is the smallest useful value. */
export const LIST_LIMITS = {
  limitDefault: 10,
  limitMaximum: 100,
  limitMinimum: 1,
  offsetDefault: 0,
  offsetMinimum: 0,
} as const;

export const PING_TIMEOUT_MAXIMUM_NANOS = 10_000_000_000;
