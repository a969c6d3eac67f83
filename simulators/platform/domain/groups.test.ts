/** The tree of groups. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { startPlatform } from '../testing/client.ts';
import { createDevice } from '../testing/kit.ts';

describe('groups', () => {
  it('form a tree after any moves', async () => {
    await using platform = await startPlatform();
    const ids = await Promise.all(
      ['a', 'b', 'c', 'd', 'e'].map(async (name) => (await platform.create('/groups', { name })).id),
    );
    const move = fc.record({ which: fc.nat(4), to: fc.option(fc.nat(4)) });
    await fc.assert(
      fc.asyncProperty(fc.array(move, { maxLength: 12 }), async (moves) => {
        for (const { which, to } of moves) {
          const parent_id = to === null ? null : (ids[to] ?? null);
          const reply = await platform.post(`/groups/${ids[which]}/move`, { parent_id });
          expect([200, 409]).toContain(reply.status);
          const parents = new Map((await platform.items('/groups')).map((item) => [item.id, item['parent_id']]));
          for (const id of ids) {
            const line = new Set<unknown>();
            for (let at: unknown = id; at !== null; at = parents.get(String(at))) {
              expect(line.has(at)).toBe(false);
              line.add(at);
            }
          }
        }
      }),
      { numRuns: 15 },
    );
  });

  it('have unique names among siblings, and a device cannot change its own group', async () => {
    await using platform = await startPlatform();
    const top = await platform.create('/groups', { name: 'Hall' });
    const post = (body: object) => platform.post('/groups', body);
    expect((await post({ name: 'Hall' })).status).toBe(409);
    expect((await post({ name: 'Hall', parent_id: top.id })).status).toBe(200);
    expect((await post({ name: 'Line', parent_id: 'grp_nothing' })).status).toBe(404);
    expect((await platform.post(`/groups/${top.id}/move`, { parent_id: top.id })).body).toMatchObject({
      error: { code: 'group_cycle' },
    });
    const robot = await createDevice(platform);
    expect((await platform.call('PATCH', `/devices/${robot}`, { group_id: top.id })).status).toBe(400);
    platform.assignGroup(robot, top.id);
    expect((await platform.get(`/devices/${robot}?expand=group`)).body).toMatchObject({
      group_id: top.id,
      group: { name: 'Hall' },
    });
  });
});
