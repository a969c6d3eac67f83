import type { ErrorFacts, Resource } from '../../platform/behaviour.ts';
import { bodies, defect, errors, keepsFirstNames, unless, variant } from '../define-platform.ts';

const BODIES = ['platform.robust.bodies'];
const REFERENCES = ['platform.robust.references'];

const isMissing = ({ code }: ErrorFacts): boolean => code.endsWith('_not_found');
const failing = (match: (facts: ErrorFacts) => boolean) => errors(match, 500);

const NAME_LENGTH = 24;

const named = ({ name }: Resource) =>
  unless(String(name ?? '').length <= NAME_LENGTH, '/name', `is longer than ${NAME_LENGTH}`);

const REFUSED: Readonly<Record<string, (body: Resource) => ReturnType<typeof unless>>> = {
  createDevice: named,
  createGroup: named,
  createConfigType: (body) => [
    ...named(body),
    ...unless(/^[a-z0-9_]+$/.test(String(body['slug'])), '/slug', 'has dashes'),
  ],
  createRelease: ({ version }) => unless(/^v\d+\.\d+\.\d+$/.test(String(version)), '/version', 'is no vN.N.N'),
  createConfigSchema: ({ documents, instance_format: format = 'json', instance_slots: slots = [] }) => [
    ...unless(JSON.stringify(documents).includes('$schema'), '/documents', 'name no dialect'),
    ...unless(
      (slots as { filepath: string }[]).every(({ filepath }) => filepath.endsWith(`.${format}`)),
      '/instance_slots',
      'has a path with another ending than its format',
    ),
  ],
};

/** Milliseconds by which the clocks of a platform's nodes differ from true time. */
const NODES_MS = [0, 40, -40];

const FIELDS = ['platform.robust.fields'];

export const defects = [
  defect(
    'bad-json-fails',
    'Fails on a body that is not JSON.',
    BODIES,
    failing(({ code }) => code === 'invalid_json'),
  ),
  defect('bodies-half-read', 'Reads bodies leniently: duplicate names, bytes that are not UTF-8.', BODIES, {
    readBody: (bytes, strict) => {
      try {
        return JSON.parse(bytes.toString('utf8'));
      } catch {
        return strict(bytes);
      }
    },
  }),
  defect('types-unchecked', 'Stores values of any type.', ['platform.robust.bodies', 'platform.group.tree'], {
    bodyProblems: () => [],
  }),
  defect(
    'large-body-fails',
    'Fails on a body that is too large.',
    BODIES,
    failing(({ status }) => status === 413),
  ),
  defect('names-beyond-bmp-fail', 'Fails on a character beyond the basic plane.', ['platform.robust.names'], {
    readBody: (bytes, strict) => {
      if (/[\u{10000}-\u{10ffff}]/u.test(bytes.toString())) throw new TypeError('this takes more than three bytes');
      return strict(bytes);
    },
  }),
  defect('names-in-ascii', 'Writes a question mark for every character outside ASCII.', ['platform.robust.names'], {
    resource: (_kind, resource) =>
      typeof resource['name'] === 'string'
        ? { ...resource, name: resource['name'].replace(/[^\x20-\x7e]/g, '?') }
        : resource,
  }),
  defect('unknown-id-fails', 'Fails on an id that does not exist.', REFERENCES, failing(isMissing)),
  defect(
    'unknown-id-empty',
    'Answers 200 with an empty object for an id that does not exist.',
    REFERENCES,
    ({ error }) => ({ error: (facts) => (isMissing(facts) ? { status: 200, body: {} } : error(facts)) }),
  ),
  defect('unknown-path-served', 'Answers 200 at paths that do not exist.', ['platform.robust.routes'], ({ error }) => ({
    error: (facts) => (facts.code === 'unknown_route' ? { status: 200, body: {} } : error(facts)),
  })),
  defect(
    'wrong-method-fails',
    'Fails on a method that a path does not have.',
    ['platform.robust.routes'],
    failing(({ status }) => status === 405),
  ),
  defect(
    'null-within-fails',
    'Fails on a null within a list or an object.',
    FIELDS,
    bodies((_operation, body) => {
      const inner = Object.values(body).flatMap((each) => Object.values(each ?? {}));
      if (inner.includes(null)) throw new TypeError('nobody expected a null here');
      return [];
    }),
  ),
  defect(
    'device-rename-lost',
    'Answers a renaming of a device with the new name, and keeps the old one.',
    FIELDS,
    keepsFirstNames('createDevice', 'getDevice'),
  ),
];

export const variants = [
  variant(
    'unprocessable-422',
    'Answers 422 to a well-formed but invalid body.',
    errors(({ code }) => code.startsWith('invalid_'), 422),
  ),
  variant('errors-as-problem-details', 'Describes errors as RFC 9457 does.', {
    error: ({ status, code, message }) => ({ status, body: { type: `urn:problem:${code}`, title: message, status } }),
  }),
  variant('errors-without-body', 'Answers errors with a status alone.', {
    error: ({ status }) => ({ status, body: undefined }),
  }),
  variant(
    'names-in-ascii-only',
    'Refuses a name that is not all ASCII.',
    bodies((_operation, { name = '' }) => unless(/^[\x20-\x7e]*$/.test(String(name)), '/name', 'must be ASCII')),
  ),
  variant(
    'texts-normalised',
    'Removes blanks around names and descriptions, and composes their letters.',
    bodies((_operation, body) => {
      for (const name of ['name', 'description'])
        if (typeof body[name] === 'string') body[name] = body[name].normalize('NFC').trim();
      return [];
    }),
  ),
  variant('clocks-of-nodes', 'Takes each time from one of three nodes, whose clocks differ by up to 80 ms.', {
    clock: (clock) => {
      let taken = 0;
      return { now: () => clock.now() + (NODES_MS[taken++ % NODES_MS.length] ?? 0) };
    },
  }),
  variant('times-in-seconds', 'Takes times in whole seconds.', {
    clock: (clock) => ({ now: () => Math.floor(clock.now() / 1000) * 1000 }),
  }),
  variant('names-twice', 'Allows duplicate names and slugs.', { allowsDuplicates: true }),
  variant(
    'config-names-strict',
    'Accepts only short names, slugs without dashes, versions of three numbers, and schemas that name their dialect ' +
      'and the format in their paths.',
    ({ bodyProblems }) => ({
      bodyProblems: (operation, value, check) => {
        const problems = bodyProblems(operation, value, check);
        return problems.length > 0 ? problems : (REFUSED[operation]?.(value as Resource) ?? []);
      },
    }),
  ),
  variant(
    'unknown-id-403',
    'Answers 403 for ids that do not exist, so that nobody learns which do.',
    errors(isMissing, 403),
  ),
];
