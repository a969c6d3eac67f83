/** JSON lines that a client under test prints: its description and its observations; see `fixtures/client.md`. */
import type { Static, TSchema } from 'typebox';
import { CLIENT_JOBS, CLIENT_PLACES, type ClientJob, JOB_TABLE } from './client.ts';
import { objectShape, shape } from './shape.ts';
import { Type } from './type.ts';

/** Line that a client prints if MUSTER_JOB is `describe`. */
export const clientDescription = objectShape('ClientDescription', {
  jobs: Type.Array(Type.String(), { description: `Jobs that it knows, among ${CLIENT_JOBS.join(', ')}` }),
  reaches: Type.Optional(
    Type.Array(Type.String(), {
      description: `Ways to a Device API that it knows, among ${CLIENT_PLACES.join(', ')}; url when left out`,
    }),
  ),
  deduplicates: Type.Optional(Type.Boolean({ description: 'It dispatches an event that comes twice only once' })),
  heartbeat: Type.Optional(
    Type.Boolean({ description: 'It takes the heartbeat interval of the agent from MUSTER_HEARTBEAT_SECONDS' }),
  ),
  name: Type.Optional(Type.String()),
  version: Type.Optional(Type.String()),
});
export type ClientDescription = Static<typeof clientDescription.schema>;

type LineKind = (typeof JOB_TABLE)[ClientJob]['lines'][number] | 'error';

const LINES = {
  event: Type.Object({
    saw: Type.Literal('event'),
    id: Type.Union([Type.String(), Type.Integer()], { description: 'Id of the event, as text or as a number' }),
    type: Type.String({ description: 'The type by which it was dispatched' }),
    data: Type.Unknown({ description: 'The payload: member data of the envelope' }),
  }),
  gap: Type.Object({ saw: Type.Literal('gap') }),
  end: Type.Object({ saw: Type.Literal('end'), reason: Type.Optional(Type.String()) }),
  deployment: Type.Object({
    saw: Type.Literal('deployment'),
    deployment: Type.Object({ id: Type.String() }, { description: 'The deployment with its members' }),
  }),
  item: Type.Object({
    saw: Type.Literal('item'),
    item: Type.Object({ id: Type.String() }, { description: 'The item with its members' }),
  }),
  pong: Type.Object({
    saw: Type.Literal('pong'),
    code: Type.String({ description: 'Member code of the answer' }),
    round_trip_nanos: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
  }),
  error: Type.Object({
    saw: Type.Literal('error'),
    status: Type.Optional(Type.Union([Type.Integer(), Type.Null()], { description: 'Status of the answer, if known' })),
    message: Type.Optional(Type.String()),
  }),
} satisfies Record<LineKind, TSchema>;

export type ClientLine = { [K in LineKind]: Static<(typeof LINES)[K]> }[LineKind];
const kinds = new Set<LineKind>([...CLIENT_JOBS.flatMap((job): readonly LineKind[] => JOB_TABLE[job].lines), 'error']);

/** Line of an observation; Muster does not judge lines of a different shape, but shows such lines in findings. */
export const clientLine = shape(
  'ClientLine',
  Type.Unsafe<ClientLine>(Type.Union([...kinds].map((kind) => LINES[kind]))),
);
