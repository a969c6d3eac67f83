/** The client suite decides exactly the catalogue of requirements, and declares each one completely. */
import { describe, expect, it } from 'vitest';
import { CLIENT_JOBS } from '../../harness/contract/client.ts';
import { premiseProblems } from '../../harness/runner/schedule.ts';
import { clientSuite } from './index.ts';

/** MUST: what the specification says of clients, or the standard of event streams. SHOULD: what every careful client does. */
const CATALOGUE = {
  MUST: `client.stream.dispatch client.stream.line-ends client.stream.bom client.stream.comments client.stream.empty
    client.stream.multi-line client.stream.fields client.stream.retry-field client.stream.boundaries
    client.dispatch.envelope-type client.dispatch.removed client.delivery.reconnect client.delivery.cursor
    client.delivery.big-ids client.delivery.torn client.delivery.long-replay client.heartbeat.cursor client.loopback.token client.loopback.socket
    client.current.shown client.current.status client.current.token client.current.socket client.pages.items client.pages.next
    client.pages.has-more client.pages.full client.pages.clamped client.ping.answer client.ping.body client.ping.timeout
    client.key.sent client.version.ping`,
  SHOULD: `client.stream.large client.stream.huge client.request.accept client.dispatch.unknown-type client.dispatch.unknown-members
    client.dispatch.unreadable client.delivery.duplicates client.heartbeat.silence client.back-off.unavailable
    client.back-off.retry-after client.back-off.retry-field client.back-off.hammering client.expired.told
    client.expired.goes-on client.expired.no-loop client.loopback.reread client.loopback.half-written
    client.loopback.stale client.back-off.restart client.loopback.elsewhere client.current.unknown client.pages.lowered client.pages.moving client.pages.unknown
    client.pages.total-count client.ping.longest client.ping.patience client.ping.unknown-code client.deploy.shown
    client.deploy.parent client.key.elsewhere client.key.printed client.version.sent client.errors.told client.errors.bodies
    client.errors.garbage client.errors.later-page client.busy.retry-after client.busy.hammering client.busy.resumes`,
  INFO: 'client.deploy.lost',
};
const { checks } = clientSuite;

/** Premises, with those that they have themselves. */
const restsOn = (premises: readonly string[]): string[] =>
  premises.flatMap((id) => [id, ...restsOn(checks.find((check) => check.id === id)?.premises ?? [])]);

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

  it('asks every check for one job, and rests it on the plainest check of that job', () => {
    expect(checks[0]?.id).toBe('client.stream.dispatch');
    const plainest = new Map<string, string>();
    for (const { id, needs = [], premises } of checks) {
      const jobs = CLIENT_JOBS.filter((job) => needs.includes(job));
      expect(jobs, id).toHaveLength(1);
      const [job = ''] = jobs;
      const first = plainest.get(job) ?? id;
      plainest.set(job, first);
      if (id !== first) expect(restsOn(premises ?? []), id).toContain(first);
    }
    expect([...plainest.keys()].sort()).toEqual([...CLIENT_JOBS].sort());
  });

  it('quotes the specification for each MUST, briefly', () => {
    for (const { id, requirement } of checks) {
      expect(requirement.section, id).toMatch(/^[1-9](\.[1-9])?$/);
      if (requirement.level === 'MUST') expect(requirement.clause, id).toBeDefined();
      expect(requirement.clause?.split(/\s+/).length ?? 0, id).toBeLessThanOrEqual(25);
    }
  });
});
