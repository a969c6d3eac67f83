/** JSON report: the data of the run, unchanged; published schema: `fixtures/schemas/report.schema.json`. */

import type { TProperties } from 'typebox';
import { MARK_KINDS } from '../client/timeline.ts';
import { isObject } from '../common/lenient.ts';
import { UsageError } from '../common/usage.ts';
import { readUserText, whyNot } from '../common/user-files.ts';
import { DAY_FORM, objectShape, oneOf, Type, UtcTimestamp } from '../contract/shape.ts';
import { APIS, CAPABILITIES, type CheckResult, LEVELS, OUTCOMES, type Report } from '../runner/types.ts';
import { jsonDocument } from './format.ts';

export const jsonFormat = jsonDocument('json', (report) => report);

const text = Type.String();
const optionalText = Type.Optional(Type.String());
const told = (description: string) => Type.Optional(Type.String({ description }));
const texts = (description: string) => Type.Optional(Type.Array(text, { description }));
const optionalObject = <P extends TProperties>(members: P, description: string) =>
  Type.Optional(Type.Object(members, { description }));
const count = Type.Integer({ minimum: 0 });
const headers = Type.Record(Type.String(), Type.String());

const times = { times: count, failed: count };

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
  raw: Type.Optional(Type.Literal(true, { description: 'Sent as the bytes in request_body, head included' })),
  times: Type.Optional(
    Type.Integer({ minimum: 2, description: 'How often it was made one after the other with the same answer' }),
  ),
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
  clause: told('The sentence of the specification that it rests on, quoted'),
  requirement_id: text,
  outcome: oneOf(OUTCOMES),
  duration_ms: Type.Number({ minimum: 0 }),
  reason: told('Why it is not applicable, undecided, blocked, known or stale'),
  observations: Type.Optional(Type.Array(text)),
  observed: Type.Optional(
    Type.Array(Type.Object({ name: text, value: text }), {
      description: 'Choices where the specification is silent: what was asked, and what came of it',
    }),
  ),
  saw: Type.Optional(Type.Record(Type.String(), count, { description: 'What a check that passed has seen, by name' })),
  in_profile: Type.Optional(Type.Literal(true, { description: 'The profile holds the target to it' })),
  fails_by: told('Of a warning: what makes the run fail for it'),
  needs: Type.Optional(Type.Array(oneOf(CAPABILITIES))),
  expected: told('Every acceptable answer'),
  actual: optionalText,
  counterexample: Type.Optional(Type.Unknown({ description: 'Smallest input that shows it' })),
  seed: Type.Optional(Type.Integer()),
  path: optionalText,
  replay_path: optionalText,
  curl: optionalText,
  script: told('POSIX shell script that drives the target and asks it again, in the order of the check'),
  blocked_by: told('Id of the failed check without which it could not be asked'),
  consequence_of: told('Id of the failed check from which it may follow: it shows the cause more plainly'),
  seen_by: texts('Of a finding of a rule: checks whose requests led to the finding'),
  allowed_for: texts('Names of the deviations that its readers allowed for'),
  deviation: optionalObject(
    { name: text, allowance: text },
    'What the readers of later checks allowed for once this one had failed',
  ),
  fault: Type.Optional(Type.Literal(true, { description: 'Muster itself went wrong' })),
  rate: optionalObject(
    { ...times, alone: Type.Object(times), not_tried: told('Why a finding was not tried again alone') },
    'Decided runs (times) and failures among them (failed); alone: the same with no other check under way',
  ),
  stderr: told('The last lines that the target wrote to its standard error, of a check that did not pass'),
  replay_command: told('Runs this check alone again'),
  exchanges: Type.Optional(Type.Array(exchange)),
  timeline: Type.Optional(
    Type.Array(mark, { description: 'What the check did and saw: its last marks, in the order in which they began' }),
  ),
});

const undecided = Type.Object({
  checks: count,
  why: Type.String({ description: 'Completes a sentence that begins with that number' }),
  needs: Type.Optional(Type.Array(oneOf(CAPABILITIES), { description: 'What the target lacks for them' })),
  add: told('What to add to the command line to have them decided'),
});

const coverage = (description: string) =>
  Type.Object(
    {
      checks: Type.Integer({ minimum: 0, description: 'Checks in all' }),
      decided: Type.Integer({ minimum: 0, description: 'Those that came to an outcome about the target' }),
      undecided: Type.Array(undecided, { description: 'The other checks by reason, the largest number first' }),
    },
    { description },
  );

export const jsonReportShape = objectShape(
  'JSON report',
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
      platform: optionalObject({ name: text, version: optionalText }, 'Platform of a system run, as named'),
      ended: Type.Optional(Type.Literal(true, { description: 'Muster started it for the run and ended it after' })),
      digest: told('sha256 of what Muster itself ran'),
      digest_of: Type.Optional(oneOf(['image', 'executable'])),
      executable: told('File that the command executed'),
      digest_missing: told('Why there is no digest of what Muster ran'),
      artifact: optionalObject(
        { name: text, digest: text },
        'A file that the tester names; nothing shows that it is what ran',
      ),
    }),
    profile: text,
    requirements_version: Type.String({ pattern: DAY_FORM, description: 'Date of the requirement set that was run' }),
    requirements_digest: Type.Optional(
      Type.String({ pattern: '^sha256:[0-9a-f]{64}$', description: "Over that set's requirements of this API" }),
    ),
    narrowed_by: Type.Array(text),
    repeat: Type.Optional(Type.Integer({ minimum: 2, description: 'How often every check was run' })),
    options: Type.Optional(
      Type.Record(
        text,
        Type.Union([text, Type.Number(), Type.Boolean(), Type.Array(Type.Union([text, Type.Number()]))]),
        {
          description: 'Options of the command by name, without secrets and defaults; `muster replay` starts from them',
        },
      ),
    ),
    complete: Type.Boolean(),
    started_at: UtcTimestamp,
    // Refuses more than 300 years, because SARIF writes the end of the run as a date.
    duration_ms: Type.Integer({ minimum: 0, maximum: 1e13 }),
    exit_code: Type.Integer(),
    summary: Type.Object(Object.fromEntries(OUTCOMES.map((outcome) => [outcome, count]))),
    coverage: coverage('How much of the requirement set was decided'),
    profile_coverage: coverage('How much of the profile was decided'),
    unmet: texts('Demands of --require, --min-decided and --repeat that were not met'),
    declarations: Type.Optional(
      Type.Array(Type.Object({ name: text, declared: text, observed: text, holds: Type.Boolean() }), {
        description: 'What the target declares that the run has seen; one that does not hold leaves the run incomplete',
      }),
    ),
    unreachable: told('Why the target could not be reached'),
    interrupted: Type.Optional(Type.Literal(true)),
    replay_of: optionalObject(
      { file: text, outcomes: Type.Record(text, oneOf(OUTCOMES)) },
      'The report whose findings were run again, and their outcomes then',
    ),
    watched: optionalObject(
      { connections: count, exchanges: count, events: count, gaps: Type.Array(text) },
      'Traffic of others that was judged: how much was seen, and what was not judged, in words',
    ),
    checks: Type.Array(check),
  },
  { title: 'Muster JSON report' },
);

/** Throws UsageError with the file if reading or parsing fails. */
export function readJson(file: string): unknown {
  const text = readUserText(file, file);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${file}: is not JSON (${whyNot(error)})`);
  }
}

export const looksLikeReport = (value: unknown): value is ReportLike =>
  isObject(value) && Array.isArray(value['checks']) && value['checks'].every(isNamedResult);

/** Throws UsageError with the file and the first invalid members. */
export function reportFrom(value: ReportLike, file: string): Report {
  if (jsonReportShape.is(value)) return value as unknown as Report;
  const problems = jsonReportShape.problems(value).slice(0, 3);
  const words = problems.map(({ path, message }) => `${path} ${message}`.trim());
  throw new UsageError(`${file}: is not a report of \`muster check\`: ${words.join('; ')}`);
}

type ReportLike = Record<string, unknown> & { checks: CheckResult[] };

const isNamedResult = (value: unknown): boolean =>
  isObject(value) && typeof value['id'] === 'string' && typeof value['outcome'] === 'string';
