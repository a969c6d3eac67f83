/** Schemas and content that would stop a platform. For tests only. */
import type { CheckJob } from '../job.ts';

let digests = 0;
export const content = (schema: object | string, data: string, format: 'json' | 'yaml' = 'json'): CheckJob => ({
  kind: 'content',
  content: { format, data },
  schema: {
    digest: String(++digests),
    format: 'json',
    documents: [{ name: 's.json', data: typeof schema === 'string' ? schema : JSON.stringify(schema) }],
  },
});
export const PLAIN = content({ type: 'number' }, '1');

/** Two equal branches a level: twice the work for each. */
function nested(levels: number): object {
  const $defs: Record<string, object> = { l0: { type: 'number' } };
  for (let level = 1; level <= levels; level++) {
    const branch = { properties: { a: { $ref: `#/$defs/l${level - 1}` } } };
    $defs[`l${level}`] = { anyOf: [branch, branch] };
  }
  return { $defs, $ref: `#/$defs/l${levels}` };
}

export const CATASTROPHIC = content({ pattern: '^(a+)+$' }, `"${'a'.repeat(60)}!"`);
/** Grows without end, too: each branch leaves its problems. */
export const NESTED = content(nested(40), `${'{"a":'.repeat(40)}"x"${'}'.repeat(40)}`);
const objects = JSON.stringify(Array.from({ length: 200_000 }, (_, k) => ({ k })));

export const HOSTILE: [what: string, job: CheckJob][] = [
  ['a catastrophic pattern', CATASTROPHIC],
  ['uniqueItems on objects', content({ uniqueItems: true }, objects)],
  ['nested anyOf', NESTED],
  ['a YAML of aliases', content({}, `a: &a [${'x,'.repeat(90)}x]\nb: [${'*a,'.repeat(400_000)}*a]\n`, 'yaml')],
];
