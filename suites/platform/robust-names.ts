/** Section 4.2, by the conventions of JSON: names in any script, and resources that are listed once they are created. */
import { setTimeout as sleep } from 'node:timers/promises';
import { requirement } from '../../harness/runner/define.ts';
import { createConfigType, createDevice, created, unique } from './support/create.ts';
import type { Item } from './support/lists.ts';
import { check, type Platform } from './support/platform.ts';
import { read } from './support/read.ts';
import { broken, said, send } from './support/send.ts';
import { walk } from './support/walk.ts';

const options = { needs: ['write'], writes: true, sharing: 'exclusive' } as const;

const NAMES = requirement({
  id: 'platform.robust.names',
  level: 'SHOULD',
  section: '4.2',
  since: '2026-11-21',
  text: 'A name in any script is taken, and then shown as it was given, or refused with a 4xx.',
});
const SCRIPTS = ['Gerät Ñandú', 'робот', '日本のロボット', '🤖', 'e\u0301'];

const names = check(NAMES, options, async (t: Platform) => {
  await createConfigType(t);
  const refusals: string[] = [];
  for (const script of SCRIPTS) {
    const slug = unique('name');
    const name = `${script} ${slug}`;
    for (const [collection, body] of [
      ['config_types', { name, slug }],
      ['devices', { name }],
    ] as const) {
      const response = await send(t, { method: 'POST', path: `/${collection}`, body });
      t.must(!broken(response), {
        expected: `no 5xx to POST /${collection} with the name ${JSON.stringify(name)}`,
        actual: said(response),
        counterexample: { method: 'POST', path: `/${collection}`, body },
      });
      const made = created(response);
      if (made === undefined) refusals.push(`${script} in ${collection}: ${response.status}`);
      else await kept(t, collection, await read(t, collection, made.id), name);
    }
  }
  if (refusals.length > 0) t.note(`refused: ${refusals.join('; ')}`);
});

async function kept(t: Platform, collection: string, item: Item, name: string): Promise<void> {
  const shown = item['name'];
  // Two ways to write one letter are one name: many platforms compose what they are given.
  t.must(typeof shown !== 'string' || shown.normalize() === name.normalize(), {
    expected: `the name ${JSON.stringify(name)}, which POST /${collection} took`,
    actual: shown,
    counterexample: { collection, name },
  });
}

const LISTED = requirement({
  id: 'platform.list.created',
  level: 'SHOULD',
  section: '2.6',
  since: '2026-11-21',
  text: 'What was created is listed, though it may take a while.',
});
const listed = check(LISTED, options, async (t: Platform) => {
  for (const [collection, make] of [
    ['config_types', createConfigType],
    ['devices', createDevice],
  ] as const) {
    const { id } = await make(t);
    const started = performance.now();
    for (let pause = 50; ; pause *= 2) {
      const { items, whole } = await walk(t, collection, { limit: 100, pages: 20 });
      if (items.some((item) => item.id === id)) break;
      if (!whole) {
        t.note(`${collection} has too many items to look for a new one`);
        break;
      }
      t.must(performance.now() - started < t.patienceMs, {
        expected: `${id}, which was created, in ${collection}`,
        actual: `not among the ${items.length} that are listed, ${Math.round((performance.now() - started) / 1000)} s later`,
      });
      await sleep(pause, undefined, { signal: t.signal });
    }
  }
});

export const robustNameChecks = [names, listed];
