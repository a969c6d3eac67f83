/** The JSON report: the run's own data, unchanged. Its shape is published as `fixtures/schemas/report.schema.json`. */
import Type from 'typebox';
import { MARK_KINDS } from '../client/timeline.ts';
import { printableJson } from '../common/terminal.ts';
import { oneOf, shape, Timestamp } from '../contract/shape.ts';
import { APIS, CAPABILITIES, LEVELS, OUTCOMES } from '../runner/types.ts';
import type { DocumentFormat } from './format.ts';

/** `--report json`. */
export const jsonFormat: DocumentFormat = {
  name: 'json',
  document: (report) => `${printableJson(report, 2)}\n`,
};

const text = Type.String();
const optionalText = Type.Optional(Type.String());
const count = Type.Integer({ minimum: 0 });
const headers = Type.Record(Type.String(), Type.String());

const exchange = Type.Object({
  method: text,
  url: text,
  request_headers: headers,
  request_body: optionalText,
  status: Type.Optional(Type.Integer()),
  response_headers: Type.Optional(headers),
  response_body: optionalText,
  error: optionalText,
  duration_ms: Type.Number({ minimum: 0 }),
  curl: text,
});

const mark = Type.Object({
  at_ms: Type.Number({ minimum: 0, description: 'Since the check began' }),
  until_ms: Type.Optional(
    Type.Number({ minimum: 0, description: 'Its end; absent for a moment, and for what had not ended' }),
  ),
  kind: oneOf(MARK_KINDS),
  what: text,
  stream: Type.Optional(Type.Integer({ minimum: 1, description: 'The stream, by number, that it belongs to' })),
  count: Type.Optional(Type.Integer({ minimum: 2, description: 'How many there were in a burst' })),
});

const check = Type.Object({
  id: text,
  level: oneOf(LEVELS),
  section: text,
  requirement: text,
  clause: Type.Optional(Type.String({ description: 'The sentence of the specification that it rests on, quoted' })),
  requirement_id: text,
  outcome: oneOf(OUTCOMES),
  duration_ms: Type.Number({ minimum: 0 }),
  reason: Type.Optional(Type.String({ description: 'Why it is not applicable, blocked, known or stale' })),
  observations: Type.Optional(Type.Array(text)),
  observed: Type.Optional(
    Type.Array(Type.Object({ name: text, value: text }), {
      description: 'Choices where the specification is silent: what was asked, and what came of it',
    }),
  ),
  needs: Type.Optional(Type.Array(oneOf(CAPABILITIES))),
  expected: Type.Optional(Type.String({ description: 'Every acceptable answer' })),
  actual: optionalText,
  counterexample: Type.Optional(Type.Unknown({ description: 'Smallest input that shows it' })),
  seed: Type.Optional(Type.Integer()),
  path: optionalText,
  replay_path: optionalText,
  curl: optionalText,
  script: Type.Optional(
    Type.String({
      description: 'POSIX shell script that drives the target and asks it again, in the order of the check',
    }),
  ),
  blocked_by: Type.Optional(Type.String({ description: 'Id of the failed check that this one rests on' })),
  consequence_of: Type.Optional(
    Type.String({ description: 'Id of the failed check that shows the cause more plainly' }),
  ),
  fault: Type.Optional(Type.Literal(true, { description: 'Muster itself went wrong' })),
  replay_command: Type.Optional(Type.String({ description: 'Runs this check alone again' })),
  exchanges: Type.Optional(Type.Array(exchange)),
  timeline: Type.Optional(
    Type.Array(mark, { description: 'What the check did and saw: its last marks, in the order in which they began' }),
  ),
});

const undecided = Type.Object({
  checks: count,
  why: Type.String({ description: 'Completes a sentence that begins with that number' }),
  needs: Type.Optional(Type.Array(oneOf(CAPABILITIES), { description: 'What the target lacks for them' })),
  add: Type.Optional(Type.String({ description: 'What to add to the command line to have them decided' })),
});

/** Shape of the report. */
export const jsonReportShape = shape(
  'JSON report',
  Type.Object(
    {
      muster: Type.String({ description: 'Version of Muster' }),
      api: oneOf(APIS),
      seed: Type.Integer(),
      target: Type.Object({
        kind: text,
        address: text,
        capabilities: Type.Array(oneOf(CAPABILITIES)),
        control: text,
        api_version: optionalText,
        dialect: optionalText,
        name: optionalText,
        version: optionalText,
        ended: Type.Optional(Type.Literal(true, { description: 'Muster started it for the run and ended it after' })),
        digest: Type.Optional(Type.String({ description: 'sha256 of what Muster itself ran' })),
        digest_of: Type.Optional(oneOf(['image', 'executable'])),
        executable: Type.Optional(Type.String({ description: 'File that the command executed' })),
        digest_missing: Type.Optional(Type.String({ description: 'Why there is no digest of what Muster ran' })),
        artifact: Type.Optional(
          Type.Object(
            { name: text, digest: text },
            { description: 'A file that the tester names; nothing shows that it is what ran' },
          ),
        ),
      }),
      profile: text,
      requirements_version: Type.String({
        pattern: '^\\d{4}-\\d{2}-\\d{2}$',
        description: 'Date of the requirement set that was run',
      }),
      requirements_digest: Type.Optional(
        Type.String({ pattern: '^sha256:[0-9a-f]{64}$', description: "Over that set's requirements of this API" }),
      ),
      narrowed_by: Type.Array(text),
      options: Type.Optional(
        Type.Record(
          Type.String(),
          Type.Union([text, Type.Number(), Type.Boolean(), Type.Array(Type.Union([text, Type.Number()]))]),
          {
            description:
              'Options of the command by name, without secrets and defaults; `muster replay` starts from them',
          },
        ),
      ),
      complete: Type.Boolean(),
      started_at: Timestamp,
      duration_ms: count,
      exit_code: Type.Integer(),
      summary: Type.Object(Object.fromEntries(OUTCOMES.map((outcome) => [outcome, count]))),
      coverage: Type.Object(
        {
          checks: Type.Integer({ minimum: 0, description: 'Checks of the requirement set' }),
          decided: Type.Integer({ minimum: 0, description: 'Those that came to an outcome about the target' }),
          undecided: Type.Array(undecided, { description: 'The others by what kept them from it, most first' }),
        },
        { description: 'How much of the requirement set was decided' },
      ),
      unmet: Type.Optional(Type.Array(text, { description: 'What --require and --min-decided asked for in vain' })),
      unreachable: Type.Optional(Type.String({ description: 'Why the target could not be reached' })),
      interrupted: Type.Optional(Type.Literal(true)),
      replay_of: Type.Optional(
        Type.Object(
          { file: text, outcomes: Type.Record(Type.String(), oneOf(OUTCOMES)) },
          {
            description: 'The report whose findings were run again, and their outcomes then',
          },
        ),
      ),
      checks: Type.Array(check),
    },
    { title: 'Muster JSON report' },
  ),
);
