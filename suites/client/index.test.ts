/** The client suite decides exactly the catalogue of requirements, and declares each one completely. */
import { describe, expect, it } from 'vitest';
import { premiseProblems } from '../../harness/runner/schedule.ts';
import { clientSuite } from './index.ts';

/** MUST: what the specification says of clients, or the standard of event streams. SHOULD: what every careful client does. */
const CATALOGUE = {
  MUST: `client.stream.dispatch client.stream.line-ends client.stream.bom client.stream.comments client.stream.empty
    client.stream.multi-line client.stream.fields client.stream.retry-field client.stream.boundaries
    client.dispatch.envelope-type client.dispatch.removed client.delivery.reconnect client.delivery.cursor
    client.delivery.big-ids client.delivery.torn client.delivery.long-replay client.heartbeat.cursor client.loopback.token client.loopback.socket`,
  SHOULD: `client.stream.large client.stream.huge client.request.accept client.dispatch.unknown-type client.dispatch.unknown-members
    client.dispatch.unreadable client.delivery.duplicates client.heartbeat.silence client.back-off.unavailable
    client.back-off.retry-after client.back-off.retry-field client.back-off.hammering client.expired.told
    client.expired.goes-on client.expired.no-loop client.loopback.reread client.loopback.half-written
    client.loopback.stale client.back-off.restart client.loopback.elsewhere`,
};
const { checks } = clientSuite;

describe('the client suite', () => {
  it.for(Object.entries(CATALOGUE))('decides every %s of the catalogue and no other', ([level, ids]) => {
    const declared = checks.filter(({ requirement }) => requirement.level === level);
    expect([...new Set(declared.map(({ requirement }) => requirement.id))].sort()).toEqual(ids.split(/\s+/).sort());
  });

  it('declares each requirement once, even if several checks decide it', () => {
    const byId = new Map(checks.map(({ requirement }) => [requirement.id, requirement]));
    for (const { id, requirement } of checks) expect(byId.get(requirement.id), id).toBe(requirement);
  });

  it('rests on premises that exist, lead nowhere in a circle, and start early enough', () => {
    expect(premiseProblems(checks)).toEqual([]);
  });

  it('asks every check for a job, and starts with the plainest one', () => {
    expect(checks[0]?.id).toBe('client.stream.dispatch');
    for (const { id, needs, premises } of checks) {
      expect(needs, id).toContain('follow');
      if (id !== checks[0]?.id) expect(premises?.join(), id).toMatch(/client.stream.dispatch|client.delivery.cursor/);
    }
  });

  it('quotes the specification for each MUST, briefly', () => {
    for (const { id, requirement } of checks) {
      expect(requirement.section, id).toMatch(/^[1-9](\.[1-9])?$/);
      if (requirement.level === 'MUST') expect(requirement.clause, id).toBeDefined();
      expect(requirement.clause?.split(/\s+/).length ?? 0, id).toBeLessThanOrEqual(25);
    }
  });
});
