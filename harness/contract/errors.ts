/** The error body that published implementations answer with. The specification shows none (section 7). */
import Type, { type Static } from 'typebox';
import { shape } from './shape.ts';

/** `{"error": {"code", "params", "message"}}`. */
export const errorBody = shape(
  'Error',
  Type.Object({
    error: Type.Object({
      code: Type.String(),
      params: Type.Record(Type.String(), Type.Unknown()),
      message: Type.String(),
    }),
  }),
);
export type ErrorBody = Static<typeof errorBody.schema>;
