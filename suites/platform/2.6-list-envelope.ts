/** Section 2.6: the envelope of every list. */

import { isIso8601 } from '../../harness/contract/shape.ts';
import { requirement } from '../../harness/runner/define.ts';
import { COLLECTIONS, envelopeProblems, getList, page, served } from './support/lists.ts';
import { check, type Platform } from './support/platform.ts';
import { seeded } from './support/seed.ts';
import { isJson, said } from './support/send.ts';

const ENVELOPE = requirement({
  id: 'platform.list.envelope',
  level: 'MUST',
  section: '2.6',
  since: '2026-11-21',
  text: 'Every collection answers with the list envelope: object "list", integer limit and offset, boolean has_more, and data whose items have an object and an id.',
});
const envelope = check(ENVELOPE, { profile: 'core' }, async (t: Platform) => {
  await served(t);
  for (const collection of COLLECTIONS) {
    for (const query of [{}, { limit: 100 }, { offset: 1 }, { expand: 'total_count' }]) {
      const response = await getList(t, collection, query);
      // Which collections a version has, and which the key may read, is the platform's business: it says so with a 4xx.
      if (absent(response)) break;
      const problems = response.status === 200 ? envelopeProblems(response.json) : ['the status is not 200'];
      t.must(problems.length === 0, {
        expected: '200 with {object: "list", limit, offset, has_more, data: [{object, id, …}, …]}',
        actual: `${problems.slice(0, 5).join('; ')}: ${said(response)}`,
        counterexample: { collection, ...query },
      });
      t.should(isJson(response), {
        expected: 'Content-Type application/json',
        actual: response.headers['content-type'] ?? 'no Content-Type',
      });
    }
  }
});

const absent = ({ status }: { status: number }): boolean => (status >= 300 && status <= 499) || status === 501;

const ITEMS = requirement({
  id: 'platform.list.items',
  level: 'MUST',
  section: '2.6',
  since: '2026-11-21',
  text: 'The items of a page are different from each other, and all of a collection name the same type in object, which no other collection does.',
});
const items = check(ITEMS, {}, async (t: Platform) => {
  const named = new Map<string, string>();
  for (const collection of await served(t)) {
    const { data } = await page(t, collection, { limit: 100 });
    const repeated = data.find(({ id }, index) => data.findIndex((other) => other.id === id) !== index);
    t.must(repeated === undefined, {
      expected: 'every item of a page once',
      actual: `${repeated?.id} more than once on one page of ${collection}`,
    });
    t.must(
      data.every((item) => item.object !== '' && item.id !== ''),
      { expected: 'an object and an id that are not empty', actual: data.find((item) => !item.object || !item.id) },
    );
    const types = [...new Set(data.map((item) => item.object))];
    t.must(types.length <= 1, {
      expected: `one type of object in ${collection}: every resource names its type`,
      actual: types.join(', '),
    });
    const [type] = types;
    if (type === undefined) continue;
    t.must(!named.has(type), {
      expected: `an object of ${collection} that names its type`,
      actual: `object "${type}", which is that of ${named.get(type)}`,
      counterexample: `GET /${collection}?limit=100`,
    });
    named.set(type, collection);
    t.should(type !== collection, {
      expected: `the name of one resource in object, not that of the collection`,
      actual: `object "${type}" in ${collection}`,
    });
    if (collection === 'deployments') {
      t.must(types.length === 0 || types[0] === 'deployment', {
        expected: 'object "deployment" in every deployment',
        actual: types.join(', '),
      });
    }
  }
});

const TIMESTAMPS = requirement({
  id: 'platform.timestamps',
  level: 'MUST',
  section: '2',
  since: '2026-11-21',
  text: 'Every timestamp of a resource is an ISO 8601 date-time string.',
});
/** What a field of a published resource is called when it holds a moment. */
const MOMENT = /^(created|updated|queued|deployed|archived|last_connected|last_disconnected|expires)_at$/;

const timestamps = check(TIMESTAMPS, { sharing: 'exclusive' }, async (t: Platform) => {
  await seeded(t, 1);
  let seen = 0;
  for (const collection of await served(t)) {
    const { data } = await page(t, collection, { limit: 100 });
    for (const item of data) {
      for (const [name, value] of Object.entries(item)) {
        if (!MOMENT.test(name) || value === null) continue;
        seen += 1;
        t.must(typeof value === 'string' && isIso8601(value), {
          expected: `an ISO 8601 date-time in ${name}`,
          actual: value,
          counterexample: { collection, id: item.id, [name]: value },
        });
      }
    }
  }
  if (seen === 0) t.notApplicable('no item that was listed has a timestamp');
});

const OBJECTS = requirement({
  id: 'platform.list.collections',
  level: 'INFO',
  section: '4.2',
  since: '2026-11-21',
  text: 'Which collections a platform serves is recorded.',
});
const collections = check(OBJECTS, {}, async (t: Platform) => {
  t.note(`serves ${(await served(t)).join(', ')} in ${t.apiVersion}`);
  t.note(
    /(^|\/)beta(\/|$)/.test(t.http.basePath)
      ? 'the base URL contains the segment beta'
      : `the base URL ${t.http.describe()} does not contain the segment beta`,
  );
});

export const listEnvelopeChecks = [envelope, items, timestamps, collections];
