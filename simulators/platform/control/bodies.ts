/** The bodies of the control API, which the console's actions take as well. */
import Type from 'typebox';
import { type Of, type Shape, shape } from '../../../harness/contract/shape.ts';
import { PlatformError } from '../ports.ts';

export const groupBody = shape('Group', Type.Object({ group_id: Type.Union([Type.String(), Type.Null()]) }));
export const snapshotBody = shape('Snapshot', Type.Object({ name: Type.String({ minLength: 1, maxLength: 200 }) }));
export const planBody = shape(
  'Plan',
  Type.Object(
    {
      method: Type.Optional(Type.String()),
      path: Type.String(),
      times: Type.Optional(Type.Integer({ minimum: 1 })),
      fault: Type.Optional(Type.String()),
      answer: Type.Optional(
        Type.Object(
          {
            status: Type.Integer({ minimum: 200, maximum: 599 }),
            headers: Type.Optional(Type.Record(Type.String(), Type.String())),
            body: Type.Optional(Type.Unknown()),
          },
          { additionalProperties: false },
        ),
      ),
    },
    { additionalProperties: false },
  ),
);

/** Throws PlatformError 400 for a body that is not of this shape. */
export function bodyOf<S extends Shape>(body: unknown, wanted: S): Of<S> {
  if (wanted.is(body)) return body as Of<S>;
  const problems = wanted
    .problems(body ?? {})
    .map(({ path, message }) => `${path === '' ? 'the body' : path} ${message}`);
  throw new PlatformError(400, 'invalid_body', problems.join('; '));
}
