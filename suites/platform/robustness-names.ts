/** Section 4.2, by the conventions of JSON: whether names in any script are kept. */
import { eachAtOnce } from '../../harness/runner/property.ts';
import { type Platform, section } from './support/check.ts';
import { createConfigType, createdItem, uniqueName } from './support/create.ts';
import { type Collection, readItem } from './support/lists.ts';
import { describeRequest, describeResponse, send, serverError } from './support/requests.ts';

export const { requirement, check, checks } = section({ section: '4.2', since: '2026-11-21' });

const anyScript = requirement({
  id: 'platform.robust.names',
  level: 'SHOULD',
  text: 'A name in any script is either accepted, and then shown as it was given, or refused with a 4xx.',
});
const NAMES = ['Gerät Ñandú', 'робот', '日本のロボット', '🤖', 'e\u0301'];
check(anyScript, { needs: ['write'] }, async (t: Platform) => {
  await createConfigType(t);
  const refusals: [name: string, status: string][] = [];
  await eachAtOnce(t, NAMES, async (prefix) => {
    const slug = uniqueName('name');
    const name = `${prefix} ${slug}`;
    for (const [collection, body] of [
      ['config_types', { name, slug }],
      ['devices', { name }],
    ] as const) {
      const status = await mustKeepName(t, collection, body);
      if (status !== 'kept') refusals.push([`a name with ${prefix} in ${collection}`, String(status)]);
    }
  });
  for (const refusal of refusals) t.observe(...refusal);
});

/** Returns the status of a refusal. */
async function mustKeepName(
  t: Platform,
  collection: Collection,
  body: { name: string; slug?: string },
): Promise<number | 'kept'> {
  const name = JSON.stringify(body.name);
  const response = await send(t, { method: 'POST', path: `/${collection}`, body });
  t.must(!serverError(response), {
    expected: `no 5xx to POST /${collection} with the name ${name}`,
    actual: describeResponse(response),
    counterexample: describeRequest('POST', `/${collection}`, body),
  });
  const created = createdItem(response);
  if (created === undefined) return response.status;
  const { name: shown } = await readItem(t, collection, created.id);
  // Many platforms normalise text, which is allowed: both forms stand for the same letters.
  t.must(typeof shown !== 'string' || shown.normalize() === body.name.normalize(), {
    expected: `the name ${name}, which POST /${collection} accepted`,
    actual: shown,
    counterexample: describeRequest('POST', `/${collection}`, body),
  });
  return 'kept';
}
